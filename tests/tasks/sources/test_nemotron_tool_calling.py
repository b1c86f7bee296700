"""Rows of Nemotron's tool-calling split, as the data set's card describes them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.nemotron_tool_calling import Config, build
from envace.tasks.task import ReplyHas, Task

ROWS = Path(__file__).with_name("fixtures") / "nemotron_tool_calling.jsonl"
FUNCTION = pa.struct({"name": pa.string(), "arguments": pa.string()})
CALL = pa.struct({"id": pa.string(), "type": pa.string(), "function": FUNCTION})
MESSAGE = pa.struct({"role": pa.string(), "content": pa.string(), "tool_calls": pa.list_(CALL)})
TEXTS = ("uuid", "license", "generator", "version", "category", "reasoning")
SCHEMA = pa.schema(
    {**dict.fromkeys(TEXTS, pa.string()), "messages": pa.list_(MESSAGE), "metadata": pa.string()}
)
"""The features that the card lists."""


def read(path: Path, folder: Path) -> list[Task | Rejected]:
    config = Config.read({"files": [{"path": str(path)}]}, "nemotron_tool_calling")
    return list(read_all(build(config, Cache(folder))))


def as_parquet(folder: Path) -> Path:
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / "tool-00000-of-00004.parquet")
    return folder / "tool-00000-of-00004.parquet"


def test_a_row_is_a_task_with_tools_of_its_own(tmp_path: Path) -> None:
    task = read(as_parquet(tmp_path), tmp_path)[0]
    assert isinstance(task, Task)
    assert problem(task) is None
    assert task.id == "nemotron_tool_calling/00000001-1111-4222-8333-444444444444"
    assert (task.family, task.domain) == ("", "tool_calling")
    assert [tool.name for tool in task.tools] == ["city_weather"]
    assert [(call.arguments["city"], text) for call, text in task.recorded_calls] == [
        ("Oslo", '{"degrees": 4}'),
        ("Rome", '{"degrees": 17}'),
    ]


def test_thoughts_stay_in_the_recording_and_out_of_the_checklist(tmp_path: Path) -> None:
    task = read(as_parquet(tmp_path), tmp_path)[0]
    assert isinstance(task, Task)
    assert task.conversation[1].content.startswith("<think>\nTwo cities")
    replies = [item.check for item in task.checklists[0] if item.id.startswith("reply")]
    assert [check.any_of for check in replies if isinstance(check, ReplyHas)] == [("17",)]


def test_json_lines_give_what_parquet_gives(tmp_path: Path) -> None:
    lines, table = read(ROWS, tmp_path), read(as_parquet(tmp_path), tmp_path)
    assert [one for one in lines if isinstance(one, Task)] == table[:2]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ('{"tools": [', "bad_json: metadata cannot be read"),
        ("{}", "no_tools: "),
        ("[]", "no_tools: "),
        (None, "no_tools: "),
        ('{"tools": 7}', "bad_tools: got 7"),
    ],
)
def test_a_row_without_tools_is_a_reason(tmp_path: Path, metadata: str | None, reason: str) -> None:
    row: dict[str, Any] = {**json.loads(ROWS.read_text().splitlines()[1]), "metadata": metadata}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    (found,) = read(tmp_path / "a.jsonl", tmp_path)
    assert isinstance(found, Rejected)
    assert found.reason.startswith(reason)
