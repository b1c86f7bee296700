from dataclasses import replace

import pytest

from envace.errors import ConfigError, TaskError
from envace.files import digest_of
from envace.tasks.curation.config import Config
from envace.tasks.curation.curate import curate
from envace.tasks.source import Rejected
from envace.tasks.store import read_rejected, read_tasks

ONE = {"engine": {"name": "local", "workers": 1}}
ALL = Config(**ONE, held_out_share=0, near=0)


def config(**changes):
    return Config(**{**ONE, "held_out_share": 0, "near": 0, **changes})


@pytest.fixture
def records(make_task):
    """Ten good tasks of two families, and one record for each way out."""
    good = [make_task(id=f"t{n}", family="ab"[n % 2], reply=f"Done {n}.") for n in range(10)]
    return [
        *good,
        make_task(id="again", reply="Done 0."),
        make_task(id="t3", reply="Done again."),
        make_task(id="long", reply="word " * 50),
        make_task(id="mute", reply=" "),
        Rejected("logs", "logs.jsonl:3", "bad_json: line 3 is not JSON"),
    ]


def test_every_record_ends_in_exactly_one_place(records, shelf, desk, make_task):
    other = make_task(id="x", family="b", tools=[{"name": "z", "parameters": {"type": "object"}}])
    report = curate(shelf(records), config(max_tokens=20), desk)
    assert report.records == len(records) == 15
    assert (report.train.tasks, report.heldout.tasks, report.rejected) == (10, 0, 5)
    assert {(reason.code, reason.count) for reason in report.reasons} == {
        ("bad_json", 1), ("duplicate_of", 1), ("duplicate_id", 1), ("empty_message", 1),
        ("too_long", 1),
    }  # fmt: skip
    assert [task.id for task in read_tasks(desk.target / "train")] == [f"t{n}" for n in range(10)]
    assert [r.record for r in read_rejected(desk.target / "rejected")] == [
        "again", "t3", "long", "mute", "logs.jsonl:3"
    ]  # fmt: skip
    assert report.sources["logs"].rejected == report.sources["logs"].records == 1
    assert other.family == "b"


def test_parts_of_any_size_and_any_number_of_processes_give_the_same_bytes(
    records, shelf, desk, tmp_path
):
    digests = set()
    for size, workers in ((4, 1), (1, 2), (100, 1)):
        here = replace(desk, work=tmp_path / f"w{size}", target=tmp_path / f"t{size}")
        engine = {"name": "local", "workers": workers}
        curate(shelf(records, size), config(max_tokens=20, engine=engine), here)
        digests.add(digest_of(here.target))
    assert len(digests) == 1


def test_a_reason_names_three_samples_and_the_most_frequent_comes_first(make_task, shelf, desk):
    bad = [make_task(id=f"b{n}", reply=" ") for n in range(5)]
    reasons = curate(shelf([Rejected("a", "1", "x: y"), *bad, make_task()]), ALL, desk).reasons
    assert [(reason.code, reason.count, len(reason.samples)) for reason in reasons] == [
        ("empty_message", 5, 3),
        ("x", 1, 1),
    ]
    assert reasons[0].samples[0].startswith("worlds b0: empty_message: message 3")
    assert reasons[0].sources == {"worlds": 5}


@pytest.fixture
def offering(make_task):
    """A task of a family that calls `add_event` and also offers tools of these names."""

    def build(family, number, *others):
        tools = [
            make_task().tools[0].model_copy(update={"description": family}),
            *({"name": name, "parameters": {"type": "object"}} for name in others),
        ]
        return make_task(id=f"{family}{number}", family=family, tools=tools, reply=f"{number}")

    return build


def test_a_tool_that_validates_is_taken_from_the_candidates_that_train(offering, shelf, desk):
    tasks = [offering("a", 1, "shared"), offering("b", 2, "shared", "own"), offering("b", 3)]
    report = curate(shelf(tasks), config(held_out=("a",)), desk)
    train, heldout = (tuple(read_tasks(desk.target / side)) for side in ("train", "heldout"))
    assert [[tool.name for tool in task.tools] for task in heldout] == [["add_event", "shared"]]
    assert [[tool.name for tool in task.tools] for task in train] == [
        ["add_event", "own"], ["add_event"]
    ]  # fmt: skip
    assert report.trimmed == 1
    assert (report.train.tools, report.heldout.tools) == (2, 2)


def test_a_task_that_calls_a_tool_that_validates_does_not_train(make_task, shelf, desk):
    tasks = [make_task(id=f, family=f, reply=f) for f in ("a", "b")]
    tasks.append(make_task(id="c", family="c", reply="c", tools=[], conversation=[
        {"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}
    ]))  # fmt: skip
    report = curate(shelf(tasks), config(held_out=("a",)), desk)
    (reason,) = report.reasons
    assert reason.samples == ("worlds b: held_out_tool: 'add_event' is a tool of a held-out task",)
    assert [task.id for task in read_tasks(desk.target / "train")] == ["c"]


def test_added_data_moves_no_task(make_task, shelf, desk, tmp_path):
    tasks = [make_task(id=f"f{n}", family=f"f{n}", reply=f"{n}", tools=[
        make_task().tools[0].model_copy(update={"description": f"{n}"})
    ]) for n in range(40)]  # fmt: skip
    sides = []
    for number, given in enumerate((tasks[:20], tasks)):
        here = replace(desk, target=tmp_path / f"{number}")
        curate(shelf(given), config(held_out_share=0.3), here)
        sides.append({task.id for task in read_tasks(here.target / "heldout")})
    assert sides[0]
    assert sides[0] == sides[1] & {task.id for task in tasks[:20]}


def test_only_what_is_new_is_examined_again(make_task, shelf, desk):
    tasks = [make_task(id=f"t{n}", reply=f"{n}") for n in range(8)]
    origins, said = shelf(tasks), []
    curate(origins, ALL, desk)
    stamps = {path: path.stat().st_mtime_ns for path in desk.work.glob("*.parquet")}
    curate(origins, ALL, replace(desk, told=said.append))
    assert {path: path.stat().st_mtime_ns for path in desk.work.glob("*.parquet")} == stamps
    assert "2 of 2 parts were examined before" in said


@pytest.mark.parametrize(
    "changed", [{"max_tokens": 99}, {"salt": "x"}, {"skip": ("repeated_call",)}]
)
def test_another_rule_examines_all_again(make_task, shelf, desk, changed):
    origins = shelf([make_task()])
    curate(origins, ALL, desk)
    (before,) = desk.work.glob("*.parquet")
    curate(origins, config(**changed), desk)
    (after,) = desk.work.glob("*.parquet")
    assert before != after


def test_no_task_left_is_an_error_that_says_why_and_leaves_what_was(make_task, shelf, desk):
    curate(shelf([make_task()]), ALL, desk)
    before = digest_of(desk.target)
    with pytest.raises(
        TaskError, match=r"of 1 records 0 are held out and 1 rejected \(too_long 1\)"
    ):
        curate(shelf([make_task()]), config(max_tokens=1), desk)
    with pytest.raises(TaskError, match="yielded no record"):
        curate(shelf([]), ALL, desk)
    assert digest_of(desk.target) == before
    assert [entry.name for entry in desk.target.parent.iterdir()] == ["tasks"]


def test_two_curations_in_one_work_folder_are_refused(make_task, shelf, desk):
    def meanwhile(said):
        if said == "putting the parts together":
            curate(shelf([make_task()]), ALL, replace(desk, told=lambda _: None))

    with pytest.raises(TaskError, match="another curation is at work"):
        curate(shelf([make_task()]), ALL, replace(desk, told=meanwhile))


@pytest.mark.parametrize("share", [1.0, -0.1, {"a": 1.0}])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(ConfigError, match="held_out_share"):
        Config.read({"held_out_share": share}, "curate")


def test_an_engine_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="has no 'rai'; did you mean 'ray'"):
        Config.read({"engine": "rai"}, "curate")
