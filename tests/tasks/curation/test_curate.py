import pytest

from envace.errors import ConfigError, TaskError
from envace.tasks.curation.curate import Config, curate
from envace.tasks.source import Rejected


def words(task):
    return sum(len(message.content.split()) for message in task.conversation)


@pytest.fixture
def records(make_task):
    """Ten good tasks, and one record for each way out."""
    good = [make_task(id=f"t{n}", reply=f"Done {n}.") for n in range(10)]
    return [
        *good,
        make_task(id="again", reply="Done 0."),
        make_task(id="long", reply="word " * 50),
        make_task(id="mute", reply=" "),
        Rejected("logs", "logs.jsonl:3", "bad_json: line 3 is not JSON"),
    ]


def test_every_record_ends_in_exactly_one_place(records):
    curated = curate(records, Config(max_tokens=20, held_out_share=0.3), words)
    report = curated.report
    assert report.records == len(records) == 14
    assert report.train.tasks + report.heldout.tasks == 10
    assert report.rejected == len(curated.rejected) == 4
    assert {(reason.code, reason.count) for reason in report.reasons} == {
        ("bad_json", 1), ("duplicate_of", 1), ("empty_message", 1), ("too_long", 1)
    }  # fmt: skip


def test_a_reason_names_three_samples_and_the_most_frequent_comes_first(make_task):
    bad = [make_task(id=f"b{n}", reply=" ") for n in range(5)]
    reasons = curate(
        [Rejected("a", "1", "x: y"), *bad, make_task()], Config(), words
    ).report.reasons
    assert [(reason.code, reason.count, len(reason.samples)) for reason in reasons] == [
        ("empty_message", 5, 3),
        ("x", 1, 1),
    ]
    assert reasons[0].samples[0].startswith("worlds b0: empty_message: message 3")


def test_a_share_may_be_given_for_each_source(make_task):
    tasks = [make_task(id=f"{s}{n}", source=s, reply=f"{s}{n}") for s in "ab" for n in range(40)]
    report = curate(tasks, Config(held_out_share={"a": 0.5}), words).report
    assert set(report.heldout.sources) == {"a"}
    assert report.train.sources["b"] == 40


def test_added_data_moves_no_task(records, make_task):
    config = Config(held_out_share=0.3)
    before = curate(records, config, words)
    after = curate([make_task(id="new", reply="new"), *records], config, words)
    assert {task.id for task in before.heldout} <= {task.id for task in after.heldout}
    assert {task.id for task in before.train} <= {task.id for task in after.train}


def test_an_empty_train_set_is_an_error_that_says_why(make_task):
    with pytest.raises(
        TaskError, match=r"of 1 records 0 are held out and 1 rejected \(too_long 1\)"
    ):
        curate([make_task()], Config(max_tokens=1), words)
    with pytest.raises(TaskError, match="yielded no record"):
        curate([], Config(), words)


@pytest.mark.parametrize("share", [1.0, -0.1, {"a": 1.0}])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(ConfigError, match="held_out_share"):
        Config.read({"held_out_share": share}, "curate")
