"""CM2's annotated checklists are kept as they are, or the record is refused."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.cm2 import Config, build
from envace.tasks.task import Task

ANNOTATED = Path(__file__).with_name("fixtures") / "cm2.json"


def record() -> Any:
    return json.loads(ANNOTATED.read_text())[0]


def read(path: Path, folder: Path) -> list[Task | Rejected]:
    config = Config.read({"files": [{"path": str(path)}]}, "cm2")
    return list(read_all(pickle.loads(pickle.dumps(build(config, Cache(folder))))))


def one(value: Any, folder: Path) -> Task | Rejected:
    (folder / "a.json").write_text(json.dumps([value]))
    (found,) = read(folder / "a.json", folder)
    return found


def test_each_item_is_kept_for_a_judge(tmp_path: Path) -> None:
    (task,) = read(ANNOTATED, tmp_path)
    assert isinstance(task, Task)
    assert problem(task) is None
    assert task.id == "cm2/00000009-1111-4222-8333-444444444444"
    assert [[item.id for item in items] for items in task.checklists] == [
        ["C0", "C1", "C2"],
        ["C0"],
    ]
    third = task.checklists[0][2]
    assert third.question == "Did the reply say 4 degrees?"
    assert third.pass_condition == "It is true that the reply say 4 degrees?"
    assert (third.evidence, third.dependence) == (("evidence 0.2",), ("C1",))
    assert third.failure_examples == ("It did not",)
    assert third.required_for_next_turn
    assert all(item.check is None for items in task.checklists for item in items)


def test_weights_that_miss_1_by_rounding_are_scaled_to_it(tmp_path: Path) -> None:
    (task,) = read(ANNOTATED, tmp_path)
    assert isinstance(task, Task)
    weights = [item.weight for item in task.checklists[0]]
    assert weights == pytest.approx([0.34 / 1.01, 0.33 / 1.01, 0.34 / 1.01], abs=1e-12)
    assert sum(weights) == 1


def test_a_table_and_the_form_of_verl_are_read_alike(tmp_path: Path) -> None:
    (whole,) = read(ANNOTATED, tmp_path)
    value = record()
    pq.write_table(pa.Table.from_pylist([value, value]), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet", tmp_path) == [whole, whole]
    text = {**value, "tools": json.dumps(value["tools"])}
    assert one(text, tmp_path) == whole
    cut = {**text, "messages": value["messages"][:1], "extra_info": text}
    assert one(cut, tmp_path) == whole


def test_the_list_around_the_turns_may_be_missing(tmp_path: Path) -> None:
    value = record()
    assert isinstance(one({**value, "checklists": value["checklists"][0]}, tmp_path), Task)


def change(value: Any, **fields: Any) -> Any:
    value["checklists"][0][1][0].update(fields)
    return value


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda v: v.pop("checklists") and v, "checklists: got none, expected a list of items"),
        (lambda v: {**v, "checklists": []}, "checklists: got none, expected a list of items"),
        (lambda v: {**v, "checklists": [[["x"]]]}, "checklists: an item of turn 0 is no object"),
        (lambda v: {**v, "checklists": [[[]]]}, "checklists: turn 0 has no items"),
        (lambda v: {**v, "messages": v["messages"][:4]}, "checklists: 2 for 1 user messages"),
        (lambda v: {**v, "messages": 7}, "checklists: 2 for 0 user messages"),
        (lambda v: change(v, weight=0.97), "checklists: the weights of turn 1 sum to 0.97"),
        (lambda v: change(v, weight=0), "checklists: turn 1: weight: input should be greater"),
        (lambda v: change(v, focus_on="mood"), "checklists: turn 1: focus_on: input should be"),
        (lambda v: change(v, question=None), "checklists: turn 1: question: field required"),
        (lambda v: change(v, evidence=[7]), "checklists: turn 1: evidence.0: input should be"),
    ],
)
def test_a_checklist_that_does_not_hold_is_a_reason(
    tmp_path: Path, spoil: Callable[[Any], Any], reason: str
) -> None:
    found = one(spoil(record()), tmp_path)
    assert isinstance(found, Rejected)
    assert found.reason.startswith(reason)
