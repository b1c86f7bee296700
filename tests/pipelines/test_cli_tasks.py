"""`envace tasks …` on a few tasks on disk."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from envace.errors import TaskError
from envace.tasks.rows import KEPT, REJECTED, Shards, columns_of
from envace.tasks.task import Task
from pipelines.cli import app

CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Lunch."},
    {"role": "assistant", "content": "Done."},
]
FACTS = {"language": "en", "n_turns": 1, "n_calls": 0, "n_tools": 0}


def task(name: str, domain: str) -> Task:
    own = {"source": "logs", "domain": domain, "tier": "talk", "system": "Be brief.", "tools": []}
    return Task.model_validate({"id": name, "conversation": CONVERSATION, **own})


@pytest.fixture(autouse=True)
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks that train, one that is held out and one record that was dropped."""
    folder = tmp_path / "data/tasks"
    sides = {"train": [("logs/7", "shop", 12), ("logs/8", "desk", 30)]}
    for side, rows in {**sides, "heldout": [("logs/9", "shop", None)]}.items():
        with Shards(folder / side, KEPT, 9) as out:
            for name, domain, tokens in rows:
                out.add({**columns_of(task(name, domain)), **FACTS, "n_tokens": tokens})
    with Shards(folder / "rejected", REJECTED, 9) as out:
        reason = "unknown_tool: '\x1b[2Jfly' is not among the tools"
        out.add({"source": "logs", "record": "a.jsonl:3", "reason": reason})
    monkeypatch.chdir(tmp_path)


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["tasks", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize(("name", "side"), [("logs/8", "train"), ("logs/9", "heldout")])
def test_a_task_of_either_side_is_shown(name: str, side: str) -> None:
    text = " ".join(said("show", name).split())
    assert f"id {name} side {side} source logs" in text
    assert "user Lunch. assistant Done." in text
    assert ("n_tokens 30" in text) == (side == "train")


def test_a_dropped_record_says_why() -> None:
    text = " ".join(said("show", "a.jsonl:3").split())
    assert "logs a.jsonl:3 was dropped: unknown_tool: 'fly' is not among the tools" in text
    assert "A call goes to a tool that is not offered." in text


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("7", "logs/7."), ("log/8", "logs/8, logs/9, logs/7."), ("zzz", "logs/7, logs/8, logs/9.")],
)
def test_an_unknown_id_names_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(TaskError) as caught:
        said("show", name)
    assert str(caught.value) == f"there is no task '{name}'; the nearest are {nearest}"


def test_slices_are_counted() -> None:
    lines = [line.split() for line in said("stats").splitlines()]
    assert ["shop", "1", "1", "1", "(1)", "0", "(0)", "0", "(0)", "12", "(12)"] in lines
    assert ["desk", "1", "0", "1", "(1)", "0", "(0)", "0", "(0)", "30", "(30)"] in lines
    assert said("stats", "--by", "tier").splitlines()[1].split()[:3] == ["talk", "2", "1"]


def test_plots_are_written_where_they_are_asked_for() -> None:
    assert "tasks: plots → stats.html" in said("stats", "--html", "stats.html")
    assert "<figure>" in Path("stats.html").read_text("utf-8")


def test_another_folder_can_be_looked_at() -> None:
    Path("data/tasks").rename("elsewhere")
    with pytest.raises(TaskError, match=r"^data/tasks/train holds no tasks"):
        said("stats")
    assert "shop" in said("stats", "--tasks", "elsewhere")


@pytest.mark.parametrize("command", ["show", "stats"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    assert f"Example: envace tasks {command}" in said(command, "--help")
