"""The rows that the data gate looks at, from tasks on disk."""

from pathlib import Path

import pytest

from envace.errors import TaskError
from envace.tasks.reports.frame import COLUMNS, Other, frame, row_of
from envace.tasks.rows import KEPT, Shards, columns_of
from envace.tasks.task import Task


def written(folder: Path, *tasks: tuple[Task, int | None]) -> Path:
    with Shards(folder, KEPT, 2) as out:
        for task, tokens in tasks:
            out.add({**columns_of(task), "n_tokens": tokens})
    return folder


def test_a_row_a_task_of_both_sides(tmp_path: Path, make_task) -> None:
    train = [(make_task(id=f"t{n}", reply=f"Done {n}."), 10 + n) for n in range(3)]
    held = make_task(id="h", tools=[{"name": "other", "parameters": {}}], family="f")
    made = frame(written(tmp_path / "train", *train), written(tmp_path / "heldout", (held, None)))
    assert list(made.columns) == list(COLUMNS)
    assert made.id.tolist() == ["t0", "t1", "t2", "h"]
    assert made.split.tolist() == ["train"] * 3 + ["heldout"]
    assert made.n_tokens.tolist()[:3] == [10, 11, 12]
    assert made.n_tokens.isna().tolist() == [False] * 3 + [True]
    assert made.content.nunique() == 4
    first = made.iloc[0]
    assert (first.n_tools, first.n_turns, first.n_calls, first.weights_sum) == (1, 1, 1, 1.0)
    assert made.shared_tools.tolist() == made.shared_families.tolist() == [0] * 4


def test_what_a_train_task_shares_with_the_held_out_side_is_counted(
    tmp_path: Path, make_task
) -> None:
    train = make_task(id="t", family="calendar")
    held = make_task(id="h", family="calendar", tier="other")
    made = frame(
        written(tmp_path / "train", (train, 5)), written(tmp_path / "heldout", (held, None))
    )
    assert made.shared_families.tolist() == [1, 0]
    assert made.shared_tools.tolist() == [1, 0]


def test_a_tool_of_the_same_name_is_another_one_when_its_schema_is(make_task) -> None:
    task = make_task(family="")
    renamed = task.tools[0].model_copy(update={"description": "Adds it."})
    other = Other(frozenset(), frozenset({b"nothing"}))
    assert row_of(task.model_copy(update={"tools": (renamed,)}), "train", 1, other)[
        "shared_tools"
    ] == 0  # fmt: skip


def test_tasks_without_a_family_share_none(tmp_path: Path, make_task) -> None:
    tools = [{"name": "other", "parameters": {}}]
    made = frame(
        written(tmp_path / "train", (make_task(id="t"), 5)),
        written(tmp_path / "heldout", (make_task(id="h", tools=tools), None)),
    )
    assert made.shared_families.tolist() == [0, 0]


def test_a_train_task_that_was_not_counted_has_no_tokens(tmp_path: Path, make_task) -> None:
    made = frame(written(tmp_path / "train", (make_task(), None)), written(tmp_path / "heldout"))
    assert made.n_tokens.tolist() == [0]


def test_one_bad_turn_among_good_ones_is_seen(make_task) -> None:
    item = make_task().checklists[0][0]
    half = item.model_copy(update={"weight": 0.5})
    assert row_of(make_task(checklists=[[item], [half]]), "train", 1)["weights_sum"] == 0.5


def test_text_that_the_docs_will_show_is_escaped(make_task) -> None:
    row = row_of(make_task(id="<i>", domain="<b>"), "train", 1)
    assert (row["id"], row["domain"]) == ("&lt;i&gt;", "&lt;b&gt;")


def test_two_empty_sides_make_an_empty_frame(tmp_path: Path) -> None:
    made = frame(written(tmp_path / "train"), written(tmp_path / "heldout"))
    assert (len(made), list(made.columns)) == (0, list(COLUMNS))


def test_a_side_that_was_not_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="holds no tasks"):
        frame(tmp_path / "train", tmp_path / "heldout")
