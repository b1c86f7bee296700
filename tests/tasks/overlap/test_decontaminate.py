import json
import pickle
from pathlib import Path

import pytest

from envace.artifacts import Cache
from envace.errors import ConfigError, TaskError
from envace.tasks.overlap import decontaminate
from envace.tasks.overlap.manifest import Config, build
from envace.tasks.source import read_all
from envace.tasks.sources import worlds
from envace.tasks.sources._chat import About, task_of

ROOT = Path(__file__).parents[3]
TAU2 = ROOT / ".venv-tau2/lib/python3.11/site-packages/tau2/data/tau2/domains"
LOGS = ROOT.parent / "shared/data/tau_bench/airline_trajectories_trial0_tasks0-19.json"
PROMPT = "Move the report of the last quarter into the archive and tell me its new size in bytes."
TOOLS = [
    {"name": "fs.move", "parameters": {"type": "dict", "properties": {"source": {}, "target": {}}}},
    {"name": "fs.size", "parameters": {"type": "dict", "properties": {"path": {}, "unit": {}}}},
]


def written(folder: Path) -> Path:
    """Two items of BFCL's form, and one of several turns."""
    (folder / "possible_answer").mkdir(parents=True)
    (folder / "multi_turn_func_doc").mkdir()
    asked = {
        "BFCL_v4_multiple.json": [
            {
                "id": "multiple_0",
                "question": [[{"role": "user", "content": PROMPT}]],
                "function": TOOLS,
            },
            {
                "id": "multiple_1",
                "question": [[{"role": "user", "content": "Area of a triangle?"}]],
                "function": [
                    {"name": "area", "parameters": {"type": "dict", "properties": {"b": {}}}}
                ],
            },
        ],
        "BFCL_v4_multi_turn_base.json": [
            {"id": "base_0", "question": [[{"role": "user", "content": "Sort it"}]]}
        ],
    }
    answers = {
        "BFCL_v4_multiple.json": [
            {
                "id": "multiple_0",
                "ground_truth": [
                    {"fs.move": {"source": ["q3.pdf", "Q3"], "target": ["old", ""]}},
                    {"fs.size": {"path": ["q3.pdf"], "unit": ["bytes", ""]}},
                ],
            },
            {"id": "multiple_1", "ground_truth": [{"area": {"b": [10]}}]},
        ],
        "BFCL_v4_multi_turn_base.json": [
            {"id": "base_0", "ground_truth": [["cd('tmp')", "sort(file_name='a.txt')"]]}
        ],
    }
    (folder / "multi_turn_func_doc" / "fs.json").write_text(
        json.dumps({"name": "cd", "parameters": {"properties": {"folder": {}}}})
    )
    for name, rows in asked.items():
        (folder / name).write_text("\n".join(map(json.dumps, rows)))
        (folder / "possible_answer" / name).write_text("\n".join(map(json.dumps, answers[name])))
    return folder


@pytest.fixture
def bfcl(tmp_path):
    """Compares with the three items."""
    config = Config(benchmarks=("bfcl",), bfcl=written(tmp_path / "bfcl"))
    return decontaminate.load(build(config, Cache(tmp_path / "cache")))


@pytest.fixture
def doing(make_task):
    """A task in which the user says this and the agent calls that."""

    def build(said, *calls, tools=()):
        steps = [
            step
            for name, arguments in calls
            for step in (
                {"role": "assistant", "calls": [{"name": name, "arguments": arguments}]},
                {"role": "tool", "name": name, "content": "{}"},
            )
        ]
        return make_task(
            tools=tools,
            conversation=[
                {"role": "user", "content": said}, *steps, {"role": "assistant", "content": "Done."}
            ],
            checklists=(),
        )  # fmt: skip

    return build


def test_items_are_counted(bfcl):
    assert bfcl.benchmarks == {"bfcl": 3}


def test_an_item_is_known_by_its_prompt(bfcl, doing):
    assert bfcl(doing(f"Hi! {PROMPT} Thanks.")) == "contaminated: bfcl:multiple_0 by prompt"
    half = " ".join(PROMPT.split()[:9])
    assert bfcl(doing(f"{half} and do something else with it, which nobody has asked for")) is None


@pytest.mark.parametrize("source", ["q3.pdf", "Q3"])
@pytest.mark.parametrize("target", [{"target": "old"}, {}])
def test_an_item_is_known_by_its_answer_in_any_right_form(bfcl, doing, source, target):
    calls = (("fs_move", {"source": source, **target}), ("fs_size", {"path": "q3.pdf"}))
    assert bfcl(doing("Do it.", *calls)) == "contaminated: bfcl:multiple_0 by goal state"


def test_another_answer_is_another_task(bfcl, doing):
    assert bfcl(doing("Do it.", ("fs_move", {"source": "q4.pdf"}))) is None
    moved = ("fs_move", {"source": "q3.pdf"})
    assert bfcl(doing("Do it.", moved, ("fs_move", {"source": "q4.pdf"}))) is None


def test_an_answer_in_python_is_parsed_and_its_places_have_names(bfcl, doing):
    calls = (("cd", {"folder": "tmp"}), ("sort", {"file_name": "a.txt"}))
    assert bfcl(doing("Now.", *calls)) == "contaminated: bfcl:base_0 by goal state"


def test_an_item_is_known_by_the_tools_that_were_written_for_it(bfcl, doing):
    def offered(*tools):
        return [
            {
                "name": name,
                "parameters": {"type": "object", "properties": {key: {} for key in names}},
            }
            for name, *names in tools
        ]

    same = offered(("fs_size", "unit", "path"), ("fs_move", "target", "source"))
    assert bfcl(doing("Hello.", tools=same)) == "contaminated: bfcl:multiple_0 by tools"
    assert bfcl(doing("Hello.", tools=same[:1])) is None
    assert bfcl(doing("Hello.", tools=offered(("area", "b")))) is None  # too common to tell


def test_it_is_sent_to_other_processes_and_made_once(bfcl, tmp_path, doing):
    again = pickle.loads(pickle.dumps(bfcl))
    assert again(doing(PROMPT)) == bfcl(doing(PROMPT))
    config = Config(benchmarks=("bfcl",), bfcl=tmp_path / "bfcl")
    path = build(config, Cache(tmp_path / "cache"))
    stamp = path.stat().st_mtime_ns
    assert build(config, Cache(tmp_path / "cache")).stat().st_mtime_ns == stamp
    assert PROMPT.encode() not in path.read_bytes()


def test_a_benchmark_without_its_data_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"decontaminate.vitabench is None, expected the data"):
        build(Config(benchmarks=("vitabench",)), Cache(tmp_path))
    (tmp_path / "bad.json").write_text('[{"id": 1}]')
    config = Config(benchmarks=("finmcp",), finmcp=tmp_path / "bad.json")
    with pytest.raises(TaskError, match=r"the items of finmcp cannot be read \(KeyError"):
        build(config, Cache(tmp_path / "cache"))


def test_an_item_of_finmcp_is_known_by_its_calls(tmp_path, doing):
    call = {"function": {"name": "fund_price", "arguments": '{"code": "000001"}'}}
    messages = [{"role": "user", "content": "价格"}, {"role": "assistant", "tool_calls": [call]}]
    (tmp_path / "f.json").write_text(json.dumps([{"id": "x1", "messages": messages}]))
    config = Config(benchmarks=("finmcp",), finmcp=tmp_path / "f.json")
    found = decontaminate.load(build(config, Cache(tmp_path / "cache")))
    made = doing("What does it cost?", ("fund_price", {"code": "000001"}))
    assert found(made) == "contaminated: finmcp:x1 by goal state"


@pytest.fixture(scope="module")
def tau2(tmp_path_factory):
    """Compares with the test split of tau2."""
    if not TAU2.exists():
        pytest.skip("tau2 is not installed; `make setup` does it")
    config = Config(benchmarks=("tau2",), tau2=TAU2)
    return decontaminate.load(build(config, Cache(tmp_path_factory.mktemp("cache"))))


@pytest.mark.parametrize(("domain", "count"), [("retail", 40), ("airline", 20), ("telecom", 40)])
def test_every_task_of_the_test_split_of_tau2_is_caught(tau2, doing, domain, count):
    chosen = set(json.loads((TAU2 / domain / "split_tasks.json").read_text())["test"])
    tasks = json.loads((TAU2 / domain / "tasks.json").read_text())
    missed, seen = [], 0
    for task in (one for one in tasks if one["id"] in chosen):
        said = task["user_scenario"]["instructions"]
        text = task.get("ticket") or f"{said['known_info']} {said['reason_for_call']}"
        calls = [(a["name"], a["arguments"]) for a in task["evaluation_criteria"]["actions"] or ()]
        seen += 1
        if tau2(doing(text.replace("You", "I").replace("your", "my"), *calls)) is None:
            missed.append(task["id"])
    assert (seen, missed) == (count, [])


def test_what_every_task_of_a_benchmark_says_is_no_trace_of_its_test_split(tau2, doing):
    chosen = set(json.loads((TAU2 / "telecom/split_tasks.json").read_text())["test"])
    tasks = json.loads((TAU2 / "telecom/tasks.json").read_text())
    others = [task for task in tasks if task["id"] not in chosen]
    tickets = [task["ticket"] for task in others]
    found = [tau2(doing(ticket)) for ticket in dict.fromkeys(tickets)]
    assert (len(others), [one for one in found if one]) == (2245, [])


@pytest.mark.skipif(not LOGS.exists(), reason="the recorded trajectories are not here")
def test_recorded_trajectories_of_tau_bench_are_caught(tmp_path):
    config = Config(benchmarks=("tau2",), tau2=TAU2, tau2_split="base")
    base = decontaminate.load(build(config, Cache(tmp_path)))
    missed = []
    for log in json.loads(LOGS.read_text()):
        names = {c["function"]["name"] for m in log["traj"] for c in m.get("tool_calls") or ()}
        task = task_of(log["traj"], [{"name": name} for name in names], About("logs", ""))
        missed += [log] if base(task) is None else []
    # In four of the 20 the user never says who he is and the agent calls nothing at all: they
    # failed, and hold nothing of their item.
    assert [log["task_id"] for log in missed] == [1, 8, 9, 16]
    assert all(log["reward"] == 0 for log in missed)
    assert not [m for log in missed for m in log["traj"] if m.get("tool_calls")]


def test_conversations_of_our_worlds_are_no_items(tau2):
    made = read_all(worlds.build(worlds.Config(conversations=20), None))
    assert [reason for task in made if (reason := tau2(task))] == []
