"""Runs of tau-bench, as its result files hold them."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from envace.artifacts import Cache
from envace.errors import TaskError
from envace.tasks.checks.rules import problem
from envace.tasks.source import Rejected, Source, read_all
from envace.tasks.sources.tau_bench_logs import Config, build
from envace.tasks.task import Task

REAL = (
    Path(__file__).parents[4] / "shared/data/tau_bench/airline_trajectories_trial0_tasks0-19.json"
)
TOOLS = [{"type": "function", "function": {"name": "get_user", "parameters": {"type": "object"}}}]


def run(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "get_user", "arguments": "{}"}}
    traj = [
        {"role": "system", "content": "The policy."},
        {"role": "user", "content": "I am mia_li_3668."},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_user", "content": "Error: not found"},
        {"role": "assistant", "content": "I cannot find you.", "tool_calls": None},
        {"role": "user", "content": "Bye. ###STOP###"},
    ]
    return {"task_id": 7, "trial": 2, "reward": 1.0, "info": {}, "traj": traj, **changes}


def source(folder: Path, *runs: Any, **fields: Any) -> Source:
    (folder / "runs.json").write_text(json.dumps(runs))
    (folder / "tools.json").write_text(json.dumps(fields.pop("offered", TOOLS)))
    given = {"files": [{"path": str(folder / "runs.json")}], "tools": str(folder / "tools.json")}
    return build(Config.read({**given, **fields}, "tau_bench_logs"), Cache(folder))


def test_a_run_that_reached_its_goal_is_a_task_up_to_its_last_reply(tmp_path: Path) -> None:
    (task,) = read_all(source(tmp_path, run(), domain="tau_bench_airline"))
    assert isinstance(task, Task)
    assert problem(task) is None
    assert task.id == "tau_bench_logs/tau_bench_airline/7/2"
    assert (task.domain, task.family) == ("tau_bench_airline", "tau_bench_airline")
    assert task.conversation[1].content == "Let me look."
    assert task.conversation[2].content == '{"result": "Error: not found"}'
    assert task.conversation[-1].content == "I cannot find you."


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"reward": 0.0}, "failed_episode: reward 0, expected 1 or more"),
        ({"reward": None}, "no_reward: the run does not say how it ended"),
        ({"traj": None}, "bad_messages: got None, expected a list"),
    ],
)
def test_a_run_that_is_none_to_imitate_has_a_reason(
    tmp_path: Path, changes: Any, reason: str
) -> None:
    (found,) = read_all(source(tmp_path, run(**changes)))
    assert isinstance(found, Rejected)
    assert found.reason == reason


def test_less_may_be_asked_of_a_run(tmp_path: Path) -> None:
    found = list(read_all(source(tmp_path, run(reward=0.5), run(reward=0.4), min_reward=0.5)))
    assert [isinstance(one, Task) for one in found] == [True, False]


def test_other_tools_make_other_parts_and_the_source_can_be_sent(tmp_path: Path) -> None:
    first = source(tmp_path, run())
    (before,) = first.parts()
    (after,) = source(tmp_path, run(), offered=[*TOOLS, {"name": "x"}]).parts()
    assert before.key != after.key
    assert list(read_all(pickle.loads(pickle.dumps(first)))) == list(read_all(first))


@pytest.mark.parametrize("offered", [7, [{"a": 1}]])
def test_tools_that_cannot_be_read_are_one_sentence(tmp_path: Path, offered: Any) -> None:
    with pytest.raises(TaskError, match=r"cannot be read .* expected OpenAI's list"):
        source(tmp_path, run(), offered=offered)


@pytest.mark.skipif(not REAL.exists(), reason="the recorded trajectories are not here")
def test_of_twenty_real_runs_four_reached_their_goal(tmp_path: Path) -> None:
    names = {
        call["function"]["name"]
        for one in json.loads(REAL.read_text())
        for message in one["traj"]
        for call in message.get("tool_calls") or ()
    }
    runs = json.loads(REAL.read_text())
    found = list(read_all(source(tmp_path, *runs, offered=[{"name": name} for name in names])))
    kept = [one for one in found if isinstance(one, Task)]
    assert [one.id.split("/")[2] for one in kept] == ["6", "11", "12", "18"]
    assert [one.reason.partition(":")[0] for one in found if isinstance(one, Rejected)] == [
        "failed_episode"
    ] * 16
