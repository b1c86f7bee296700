import json
from collections import Counter

import pytest

from envace.episode import Message, Observation, Role, Step, Turn
from envace.errors import ConfigError
from envace.rehearsal.protocol import check
from envace.rewards.checklist import score_turn
from envace.tasks.checks.rules import problem
from envace.tasks.source import read_all
from envace.tasks.sources.worlds import Config, build
from envace.tasks.task import CallMade, Task


def _tasks(**fields: object) -> list[Task]:
    tasks = list(read_all(build(Config.read({"conversations": 20, **fields}, "worlds"), None)))
    assert all(isinstance(task, Task) for task in tasks)
    return [task for task in tasks if isinstance(task, Task)]


def test_every_recording_is_a_valid_task_with_a_checklist_for_each_turn() -> None:
    for task in _tasks(bad_call_share=0.5):
        assert problem(task) is None, task.id
        assert len(task.checklists) == len(task.user_messages)


def _steps(task: Task, messages: list[Message]) -> list[Step]:
    """A recorded round as the episode loop would have seen it, checks included."""
    steps: list[Step] = []
    for index, message in enumerate(messages):
        if message.role == "assistant":
            turn = Turn(Role.ACT, "", message.calls, message.content)
            answers = messages[index + 1 : index + 1 + len(message.calls)]
            seen = tuple(
                check(call, task.tools) or Observation(json.loads(answer.content))
                for call, answer in zip(message.calls, answers, strict=True)
            )
            steps.append(Step(turn, seen))
    return steps


def _rounds(task: Task) -> list[list[Message]]:
    """The messages after each user message, up to the next one."""
    rounds: list[list[Message]] = []
    for message in task.conversation:
        if message.role == "user":
            rounds.append([])
        else:
            rounds[-1].append(message)
    return rounds


def test_a_recording_passes_every_item_of_its_own_checklists() -> None:
    for task in _tasks(bad_call_share=0.5):
        for items, messages in zip(task.checklists, _rounds(task), strict=True):
            assert score_turn(items, _steps(task, messages)) == pytest.approx(1), task.id


def test_there_are_as_many_recordings_as_asked_of_each_domain_and_tier() -> None:
    counts = Counter((task.domain, task.tier) for task in _tasks(tiers=["one_call", "trap"]))
    assert counts == {(d, t): 20 for d in ("calendar", "retail") for t in ("one_call", "trap")}


def test_ids_name_domain_tier_and_seed() -> None:
    task = _tasks(first_seed=40, domains=["retail"], tiers=["trap"])[2]
    assert (task.id, task.source) == ("worlds/retail/trap/42", "worlds")


def test_the_same_config_records_the_same_tasks() -> None:
    assert _tasks() == _tasks()


def _bad(task: Task) -> int:
    return sum('"INVALID_PARAMETERS"' in message.content for message in task.conversation)


@pytest.mark.parametrize(("share", "expected"), [(0, {0}), (1, {1})])
def test_the_share_of_bad_calls_is_as_asked(share: float, expected: set[int]) -> None:
    assert {_bad(task) for task in _tasks(bad_call_share=share)} == expected


def test_a_bad_call_is_answered_by_the_checks_and_then_repaired() -> None:
    task = _tasks(bad_call_share=1, tiers=["one_call"])[0]
    bad, answer, repaired, *_ = task.conversation[1:]
    refused = check(bad.calls[0], task.tools)
    assert refused is not None
    assert refused.code == "INVALID_PARAMETERS"
    assert json.loads(answer.content) == refused.content
    assert bad.calls[0].name == repaired.calls[0].name == answer.name
    made = [item.check for item in task.checklists[0] if isinstance(item.check, CallMade)]
    assert [check.arguments for check in made] == [repaired.calls[0].arguments]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"domains": ["airline"]}, "'airline' is held out"),
        ({"first_seed": 999_990, "conversations": 11}, "the last seed is 1000000"),
        ({"tiers": ["one_cal"]}, "there is no tier 'one_cal'; did you mean 'one_call'?"),
        ({"domains": ["calender"]}, "there is no world 'calender'; did you mean 'calendar'?"),
        ({"held_out_domains": ["airlin"]}, "there is no world 'airlin'; did you mean 'airline'?"),
        ({"domains": []}, "at least 1 item"),
    ],
)
def test_what_is_held_out_or_unknown_is_refused(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.read(fields, "worlds")
    assert sentence in str(caught.value)


def test_the_last_seed_before_the_held_out_range_is_recorded() -> None:
    tasks = _tasks(first_seed=999_999, conversations=1, domains=["retail"], tiers=["one_call"])
    assert [task.id for task in tasks] == ["worlds/retail/one_call/999999"]
