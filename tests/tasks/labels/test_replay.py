"""A recording, played again as an episode, has the full score of its own checklists."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envace.artifacts import Cache
from envace.episode import Call, Episode, Message, Observation, Role, Step, Tool, Turn
from envace.episode import Sequence as Tokens
from envace.rewards.checklist import Checklist
from envace.rewards.reward import Missing, Valid
from envace.strict_json import dumps, loads
from envace.tasks.labels.recorded import checklists
from envace.tasks.source import read_all
from envace.tasks.sources import tau2_gold, worlds
from envace.tasks.task import Task

TAU2 = Path(__file__).parents[3] / ".venv-tau2" / "bin" / "python"


def _rounds(messages: Sequence[Message]) -> tuple[tuple[Step, ...], ...]:
    """What followed each user message, as the episode loop would have it."""
    rounds: list[tuple[Step, ...]] = []
    for index, message in enumerate(messages):
        if message.role == "user":
            rounds.append(())
        if message.role == "assistant":
            answers = messages[index + 1 : index + 1 + len(message.calls)]
            seen = tuple(Observation(json.loads(answer.content)) for answer in answers)
            turn = Turn(Role.ACT, "", message.calls, message.content)
            rounds[-1] = (*rounds[-1], Step(turn, seen))
    return tuple(rounds)


def _score(task: Task, rounds: tuple[tuple[Step, ...], ...]) -> Valid | Missing:
    return asyncio.run(Checklist().score(task, Episode(task.id, rounds, Tokens(Role.ACT))))


def _assert_fair(task: Task) -> None:
    rounds = _rounds(task.conversation)
    assert len(task.checklists) == len(rounds) > 0
    for items in task.checklists:
        assert 1 <= len(items) <= 20
        assert sum(item.weight for item in items) == 1
        assert len({item.id for item in items}) == len(items)
    assert _score(task, rounds) == Valid(1.0), task.id
    assert all(Checklist().goes_on(task, rounds[:n]) for n in range(1, len(rounds)))
    silent = ((Step(Turn(Role.ACT, "")),),) * len(rounds)
    assert _score(task, silent) == _score(task, ((),) * len(rounds)) == Valid(0.0), task.id


def _tasks(source: object) -> Iterable[Task]:
    return [task for task in read_all(source) if isinstance(task, Task)]


def test_recordings_of_worlds_have_the_full_score_and_silence_has_none() -> None:
    config = worlds.Config(conversations=20, bad_call_share=0.5)
    for task in _tasks(worlds.build(config, None)):
        _assert_fair(task)


@pytest.mark.skipif(not TAU2.exists(), reason="tau2's environment is not made; run `make setup`")
def test_real_tasks_have_the_full_score_and_silence_has_none(tmp_path: Path) -> None:
    config = tau2_gold.Config.read({"python": TAU2, "domains": ["airline"]}, "tau2")
    found = _tasks(tau2_gold.build(config, Cache(tmp_path)))
    assert len(found) >= 25
    for task in found:
        _assert_fair(task)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(max_size=50)
    | st.sampled_from(["pending", "O-48", "2026-03-14", "A text of more than five words here."]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["id", "ids", "error", "status", "n"]), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
objects = st.dictionaries(st.sampled_from(["id", "item_ids", "note", "n"]), values, max_size=4)
calls = st.tuples(st.sampled_from(["get_it", "cancel_it", "think", "fly"]), objects, objects)
turns = st.tuples(st.text(max_size=9), st.lists(st.lists(calls, max_size=3), max_size=9), st.text())


@given(st.lists(turns, min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_any_recording_has_the_full_score_and_silence_has_none(
    said: list[tuple[str, list[list[tuple[str, dict[str, object], dict[str, object]]]], str]],
) -> None:
    messages: list[Message] = []
    for user, rounds, reply in said:
        messages.append(Message(role="user", content=user))
        shown = ""
        for made in filter(None, rounds):
            asked = tuple(Call.model_validate({"name": n, "arguments": a}) for n, a, _ in made)
            messages.append(Message(role="assistant", calls=asked))
            messages += [Message(role="tool", name=n, content=dumps(r)) for n, _, r in made]
            shown += " ".join(dumps(r) for _, _, r in made)
        messages.append(Message(role="assistant", content=f"Done. {reply} {shown}"))
    tools = [Tool(name=name, parameters={}) for name in ("get_it", "cancel_it", "think")]
    task = Task(
        id="any", source="test", domain="any", tier="any", system="", tools=tuple(tools),
        conversation=tuple(messages), checklists=checklists(messages, tools),
    )  # fmt: skip
    assert loads(dumps(task.model_dump(mode="json"))) == task.model_dump(mode="json")
    _assert_fair(task)
