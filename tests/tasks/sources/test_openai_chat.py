"""A team's own logs, in every form of the fixture."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, read_all
from envace.tasks.sources.openai_chat import Config, build
from envace.tasks.task import Task

LOGS = Path(__file__).with_name("fixtures") / "openai_chat.jsonl"


def read(path: Path, cache: Path, **fields: Any) -> list[Task | Rejected]:
    config = Config.read({"files": [{"path": str(path)}], **fields}, "openai_chat")
    source = pickle.loads(pickle.dumps(build(config, Cache(cache))))
    return list(read_all(source))


def one(record: Any, folder: Path, **fields: Any) -> Task | Rejected:
    (folder / "logs.jsonl").write_text(json.dumps(record) + "\n")
    (found,) = read(folder / "logs.jsonl", folder, **fields)
    return found


def test_each_record_is_a_task_or_a_reason(tmp_path: Path) -> None:
    found = read(LOGS, tmp_path)
    tasks = [one for one in found if isinstance(one, Task)]
    refused = [one for one in found if isinstance(one, Rejected)]
    assert [problem(task) for task in tasks] == [None] * 3
    assert [task.tier for task in tasks] == ["several_calls", "one_call", "no_call"]
    assert [one.reason.partition(":")[0] for one in refused] == ["not_text", "unfinished"]
    assert all(one.record.startswith("openai_chat.jsonl:@") for one in refused)


def test_parallel_calls_keep_their_own_results(tmp_path: Path) -> None:
    task = read(LOGS, tmp_path)[0]
    assert isinstance(task, Task)
    assert (task.id, task.domain) == ("openai_chat/parallel", "rooms")
    assert [(call.arguments["room"], text) for call, text in task.recorded_calls] == [
        ("Ada", '{"booking": "B1"}'),
        ("Turing", '{"booking": "B2"}'),
    ]


def test_the_older_form_is_read(tmp_path: Path) -> None:
    task = read(LOGS, tmp_path, domain="office", family="rooms")[1]
    assert isinstance(task, Task)
    assert (task.domain, task.family) == ("office", "rooms")
    assert [tool.name for tool in task.tools] == ["find_room"]
    assert task.recorded_calls[0][1] == '{"result": "Hopper"}'


def test_a_request_ends_with_its_response(tmp_path: Path) -> None:
    task = read(LOGS, tmp_path)[2]
    assert isinstance(task, Task)
    assert task.system == "You book meeting rooms."
    assert [m.content for m in task.conversation] == ["Hello!", "Hello! Which room do you need?"]


HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def test_fields_may_have_other_names(tmp_path: Path) -> None:
    record = {"chat": HELLO, "functions_": [{"name": "now"}], "key": 7, "team": "a", "kit": "k"}
    names = {"messages": "chat", "tools": "functions_", "id": "key", "domain": "team"}
    fields = {f"{key}_field": name for key, name in {**names, "family": "kit"}.items()}
    task = one(record, tmp_path, **fields)
    assert isinstance(task, Task)
    assert (task.id, task.domain, task.family) == ("openai_chat/7", "a", "k")
    assert [tool.name for tool in task.tools] == ["now"]


@pytest.mark.parametrize("write", [json.dumps, dict])
def test_request_and_response_may_be_text_with_other_names(tmp_path: Path, write: Any) -> None:
    request, response = {"chat": HELLO[:1]}, {"choices": [{"message": HELLO[1]}]}
    record = {"request": write(request), "response": write(response)}
    task = one(record, tmp_path, messages_field="chat")
    assert isinstance(task, Task)
    assert len(task.conversation) == 2


@pytest.mark.parametrize(
    "response",
    [None, "{", 7, {}, {"choices": []}, {"choices": [7]}, {"error": {"message": "overloaded"}}],
)
def test_a_request_without_an_answer_is_unfinished(tmp_path: Path, response: Any) -> None:
    found = one({"request": {"messages": HELLO[:1]}, "response": response}, tmp_path)
    assert isinstance(found, Rejected)
    assert found.reason == "unfinished: no turn ends with a reply"
