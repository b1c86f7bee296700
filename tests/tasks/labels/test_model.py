import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from envace.errors import PolicyError
from envace.tasks.labels.model import Config, label
from envace.tasks.source import Rejected
from envace.tasks.task import Task
from tests.fixtures.endpoint import Body, Model, Said

ITEM = {
    "id": "told",
    "question": "Is the user told?",
    "focus_on": "assistant.content.user_visible_reply",
    "pass_condition": "The reply says that it is done.",
    "failure_examples": [],
    "evidence": ["Done."],
    "dependence": [],
    "weight": 1,
}
GOOD = json.dumps({"turns": [[ITEM]]})
BAD = json.dumps({"turns": [[{**ITEM, "evidence": ["Never said."]}]]})
KEEP = json.dumps({"keep": True, "code": "ok", "detail": ""})
DROP = json.dumps({"keep": False, "code": "wrong_calls", "detail": "It adds the wrong day."})

MakeTasks = Callable[[int], list[Task]]


@pytest.fixture
def tasks(make_task: Callable[..., Task]) -> MakeTasks:
    def make(count: int) -> list[Task]:
        return [make_task(id=f"t{n}", system=f"Policy {n}.") for n in range(count)]

    return make


@pytest.fixture
def run(model: Model, tmp_path: Path) -> Callable[..., tuple[list[Task | Rejected], list[str]]]:
    def run(
        tasks: Iterable[Task], key: str | None = None, **fields: Any
    ) -> tuple[list[Task | Rejected], list[str]]:
        quick = {"base_url": model.url, "model": "m", "backoff_s": 0.001}
        config = Config.read({**quick, **fields}, "labels")
        told: list[str] = []

        def hear(task: str, why: str) -> None:
            told.append(f"{task} {why}")

        async def collect() -> list[Task | Rejected]:
            path = tmp_path / "verdicts.jsonl"
            return [result async for result in label(tasks, config, path, key, hear)]

        return asyncio.run(collect()), told

    return run


Run = Callable[..., tuple[list[Task | Rejected], list[str]]]


def ids(result: Task | Rejected) -> list[str]:
    assert isinstance(result, Task)
    return [item.id for items in result.checklists for item in items]


def test_without_an_address_nothing_is_asked_and_no_file_made(
    model: Model, run: Run, tasks: MakeTasks, tmp_path: Path
) -> None:
    assert run(tasks(3), base_url=None) == (tasks(3), [])
    assert (model.asked, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f"<think>Hm.</think>\n{GOOD}"])
def test_a_good_answer_adds_its_items(model: Model, run: Run, tasks: MakeTasks, text: str) -> None:
    model.say(Said(text))
    results, told = run(tasks(2))
    assert [ids(result) for result in results] == [["made", "told"]] * 2
    assert told == []


def test_a_bad_answer_may_be_repaired_once(model: Model, run: Run, tasks: MakeTasks) -> None:
    model.say(Said(BAD), Said(GOOD))
    results, told = run(tasks(1))
    assert (ids(results[0]), told) == (["made", "told"], [])
    *first, answer, again = model.asked[1]["messages"]
    assert first == model.asked[0]["messages"]
    assert answer == {"role": "assistant", "content": BAD}
    assert "'Never said.' is not in the messages of the turn" in again["content"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BAD, "evidence: 'Never said.' is not in the messages of the turn (item 'told' of turn 0)"),
        ("Sure!", "not_json: it is no JSON object (Expecting value: line 1 column 1 (char 0))"),
        ('{"turns": NaN}', "not_json: it is no JSON object (NaN is not JSON)"),
        ('{"turns": 1}', "form: turns: Input should be a valid tuple"),
        ("[]", "form: it: Input should be a valid dictionary or instance of Labels"),
        ('{"turns": [], "more": 1}', "form: more: Extra inputs are not permitted"),
    ],
)
def test_a_task_stays_as_it_is_when_no_answer_holds(
    model: Model, run: Run, tasks: MakeTasks, text: str, why: str
) -> None:
    model.say(Said(text))
    assert run(tasks(1)) == (tasks(1), [f"t0 {why}"])
    assert len(model.asked) == 2


def test_a_request_that_is_refused_leaves_its_task_and_is_asked_again_next_time(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    model.say(Said(status=413, raw="too long"), Said(GOOD))
    results, told = run(tasks(2), concurrency=1)
    assert ([len(ids(result)) for result in results], told) == ([1, 2], ["t0 http_413: too long"])
    results, told = run(tasks(2), concurrency=1)
    assert ([len(ids(result)) for result in results], told) == ([2, 2], [])
    assert len(model.asked) == 3


def test_a_task_that_the_model_finds_unfit_is_rejected_with_its_code(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    model.script = lambda body, number: Said(DROP if "Policy 1." in str(body) else KEEP)
    results, told = run(tasks(2), keep=True, label=False)
    reason = "model_wrong_calls: It adds the wrong day."
    assert results == [*tasks(1), Rejected("worlds", "t1", reason)]
    assert told == []


def test_an_unfit_task_is_not_labelled_and_one_without_a_verdict_is_kept(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    def answer(body: Body, number: int) -> Said:
        if body["response_format"]["json_schema"]["name"] == "labels":
            return Said(GOOD)
        return Said("?" if "Policy 0." in str(body) else DROP)

    model.script = answer
    results, told = run(tasks(2), keep=True)
    assert (ids(results[0]), type(results[1])) == (["made", "told"], Rejected)
    assert [line.partition(" (")[0] for line in told] == ["t0 not_json: it is no JSON object"]
    assert len(model.asked) == 4  # twice about keeping t0, once about t1, once for the items of t0


def test_a_task_with_judged_items_is_annotated_already(
    model: Model, run: Run, make_task: Callable[..., Task]
) -> None:
    model.say(Said(GOOD))
    task = make_task()
    judged = [[item.model_copy(update={"check": None}) for item in task.checklists[0]]]
    task = task.model_copy(update={"checklists": judged})
    assert run([task]) == ([task], [])
    assert model.asked == []


def test_results_come_in_order_and_only_a_few_tasks_are_read_ahead(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    first, read = threading.Event(), list[int]()

    def answer(body: Body, number: int) -> Said:
        if "Policy 0." in str(body):
            return Said(GOOD, wait=first)
        if len(model.asked) == 6:  # All that may be read before the first answer is there.
            first.set()
        return Said(GOOD)

    def stream() -> Iterator[Task]:
        for number, task in enumerate(tasks(20)):
            assert number < 6 or first.is_set()
            read.append(number)
            yield task

    model.script = answer
    results, _ = run(stream(), concurrency=3)
    assert [result.id for result in results if isinstance(result, Task)] == [
        f"t{n}" for n in range(20)
    ]


def test_a_run_that_was_cut_off_asks_for_each_task_exactly_once(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    good = list[str]()

    def answer(body: Body, number: int) -> Said:
        if number in (5, 9):
            return Said(status=401)
        good.append(body["messages"][1]["content"])
        return Said(GOOD)

    model.script = answer
    for _ in range(2):
        with pytest.raises(PolicyError, match="answered 401"):
            run(tasks(12), concurrency=1)
    results, _ = run(tasks(12), concurrency=1)
    assert [ids(result) for result in results] == [["made", "told"]] * 12
    assert len(good) == len(set(good)) == 12
    assert run(tasks(12)) == (results, [])
    assert len(model.asked) == 14


def test_another_model_or_setting_is_asked_anew(model: Model, run: Run, tasks: MakeTasks) -> None:
    model.say(Said(GOOD))
    for fields in ({}, {}, {"model": "n"}, {"temperature": 1}, {"seed": 1}, {"concurrency": 2}):
        run(tasks(1), **fields)
    assert [(body["model"], body["temperature"], body["seed"]) for body in model.asked] == [
        ("m", 0, 0),
        ("n", 0, 0),
        ("m", 1, 0),
        ("m", 0, 1),
    ]


def test_the_ceiling_holds_over_all_runs_and_a_higher_one_goes_on(
    model: Model, run: Run, tasks: MakeTasks
) -> None:
    # Each answer has 50 tokens at 0.01 and may have 100: 0.50 is paid and 1.00 set aside.
    model.say(Said(GOOD))
    priced = {"completion_price": "10000", "max_tokens": 100, "concurrency": 1}
    for _ in range(2):
        with pytest.raises(PolicyError, match=r"^2.0\d* are spent and the next .* ceiling is 2.5;"):
            run(tasks(6), ceiling="2.5", **priced)
        assert len(model.asked) == 4
    results, _ = run(tasks(6), ceiling="3.5", **priced)
    assert (len(results), len(model.asked)) == (6, 6)


def test_no_file_holds_the_key(model: Model, run: Run, tasks: MakeTasks, tmp_path: Path) -> None:
    model.say(Said(GOOD))
    run(tasks(1), key="sk-secret")
    assert model.keys == ["Bearer sk-secret"]
    assert not [file for file in tmp_path.rglob("*") if b"sk-secret" in file.read_bytes()]


def test_what_was_paid_is_written_beside_the_answer(
    model: Model, run: Run, tasks: MakeTasks, tmp_path: Path
) -> None:
    model.say(Said(GOOD, usage=(1_000, 100)))
    run(tasks(2), prompt_price="0.15", completion_price="0.60")
    lines = (tmp_path / "verdicts.jsonl").read_text().splitlines()
    paid = [Decimal(json.loads(line)["cost"]) for line in lines]
    assert paid == [Decimal("0.00021")] * 2  # (1000 · 0.15 + 100 · 0.60) / 1e6
