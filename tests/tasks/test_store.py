import json

import pytest

from envace.errors import TaskError
from envace.tasks.source import Rejected
from envace.tasks.store import read_tasks, write_rejected, write_tasks


def test_tasks_survive_the_round_trip(tmp_path, make_task):
    tasks = (make_task(), make_task(id="é\n2", system="line\u2028break"))
    path = tmp_path / "new" / "tasks.jsonl"
    write_tasks(path, tasks)
    assert read_tasks(path) == tasks
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "it is not JSON"),
        ("[]", "the record is wrong"),
        ('{"id": 1}', "id is wrong"),
        ('{"id": NaN}', "it is not JSON"),
        ('{"id": "a", "extra": 1}', "source is wrong"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, make_task, line, said):
    path = tmp_path / "tasks.jsonl"
    path.write_text(make_task().model_dump_json() + "\n" + line + "\n")
    with pytest.raises(TaskError, match=f"tasks.jsonl:2: {said}.*correct or delete the line"):
        read_tasks(path)


def test_a_missing_file_says_what_to_do(tmp_path):
    with pytest.raises(TaskError, match="run the stage that writes it"):
        read_tasks(tmp_path / "none.jsonl")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, make_task):
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, [make_task()])
    before = path.read_bytes()

    def broken():
        yield make_task(id="b")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_tasks(path, broken())
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.jsonl"]


def test_rejections_are_written_one_a_line(tmp_path):
    path = tmp_path / "rejected.jsonl"
    write_rejected(path, [Rejected("logs", "a.jsonl:3", "bad_result: no")])
    expected = {"source": "logs", "record": "a.jsonl:3", "reason": "bad_result: no"}
    assert json.loads(path.read_text()) == expected
