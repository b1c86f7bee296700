"""Traces of chat models, recorded with MLflow."""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mlflow.entities import Trace

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.mlflow_traces import Config, build
from envace.tasks.task import Task

TRACES = Path(__file__).with_name("fixtures") / "mlflow_traces.jsonl"


def lines() -> list[str]:
    return TRACES.read_text().splitlines()


def read(path: Path, folder: Path) -> list[Task | Rejected]:
    config = Config.read({"files": [{"path": str(path)}]}, "mlflow_traces")
    return list(read_all(pickle.loads(pickle.dumps(build(config, Cache(folder))))))


def one(trace: Any, folder: Path) -> Task | Rejected:
    (folder / "a.jsonl").write_text(json.dumps(trace))
    (found,) = read(folder / "a.jsonl", folder)
    return found


@pytest.mark.parametrize("line", lines())
def test_the_fixture_is_what_mlflow_writes(line: str) -> None:
    assert json.loads(Trace.from_json(line).to_json()) == json.loads(line)


def test_the_longest_conversation_of_a_trace_is_the_task(tmp_path: Path) -> None:
    task = read(TRACES, tmp_path)[0]
    assert isinstance(task, Task)
    assert problem(task) is None
    assert task.id.startswith("mlflow_traces/tr-")
    assert (task.domain, task.tier) == ("finance", "one_call")
    assert task.system == "You answer questions on exchange rates."
    assert [tool.name for tool in task.tools] == ["get_rate"]
    assert task.recorded_calls[0][1] == '{"rate": 0.9312}'
    assert task.conversation[-1].content == "One euro is 0.9312 Swiss francs."


def test_a_trace_that_is_no_good_conversation_is_a_reason(tmp_path: Path) -> None:
    reasons = [found.reason for found in read(TRACES, tmp_path) if isinstance(found, Rejected)]
    assert reasons == [
        "fault: the served output was MALFORMED_TAG",
        "failed_trace: its state is 'ERROR', expected 'OK'",
        "no_chat: no span has messages among its inputs",
    ]


def test_a_table_of_traces_gives_the_same_tasks(tmp_path: Path) -> None:
    rows = [{"trace": line, "state": "OK", "spans": [7]} for line in lines()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = read(TRACES, tmp_path)[0]
    assert read(tmp_path / "a.parquet", tmp_path)[0] == task
    assert read(tmp_path / "b.jsonl", tmp_path)[0] == task


def test_tools_may_stand_beside_the_inputs(tmp_path: Path) -> None:
    trace = json.loads(lines()[0])
    for span in trace["data"]["spans"]:
        inputs = json.loads(span["attributes"]["mlflow.spanInputs"])
        tools = inputs.pop("tools", None)
        attributes = {"mlflow.spanInputs": json.dumps(inputs), "mlflow.chat.tools": tools}
        span["attributes"].update(attributes)
    task = one(trace, tmp_path)
    assert isinstance(task, Task)
    assert [tool.name for tool in task.tools] == ["get_rate"]


SPAN = {"attributes": {"mlflow.spanInputs": "{"}}


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        ({}, "bad_trace: its info is NoneType, expected an object"),
        ({"trace": "{"}, "bad_json: trace cannot be read"),
        ({"trace": "[]"}, "bad_trace: its info is NoneType"),
        ({"info": {"state": "OK"}}, "bad_trace: its data is NoneType"),
        ({"info": {}, "data": {}}, "failed_trace: its state is 'None'"),
        ({"info": {"state": "OK"}, "data": {}}, "no_chat: "),
        ({"info": {"status": "OK"}, "data": {"spans": [7]}}, "bad_trace: a span is int"),
        ({"info": {"state": "OK"}, "data": {"spans": [{}]}}, "bad_trace: its attributes"),
        ({"info": {"state": "OK"}, "data": {"spans": [SPAN]}}, "bad_json: mlflow.spanInputs"),
    ],
)
def test_what_is_no_trace_is_a_reason(tmp_path: Path, trace: Any, reason: str) -> None:
    found = one(trace, tmp_path)
    assert isinstance(found, Rejected)
    assert found.reason.startswith(reason)
