import pyarrow.parquet as pq
import pytest

from envace.errors import TaskError
from envace.tasks import rows, store
from envace.tasks.store import read_rejected, read_tasks, write_tasks


@pytest.fixture
def many(make_task):
    return tuple(make_task(id=f"t{n}", reply=f"Done {n}.") for n in range(600))


def test_tasks_survive_the_round_trip(tmp_path, make_task):
    tasks = (make_task(), make_task(id="é\n2", system="line\u2028break", tools=()))
    write_tasks(tmp_path / "new" / "tasks", tasks)
    assert tuple(read_tasks(tmp_path / "new" / "tasks")) == tasks


def test_a_task_is_found_by_its_place_in_whichever_shard_it_is(tmp_path, many):
    write_tasks(tmp_path / "tasks", many, size=500)
    found = read_tasks(tmp_path / "tasks")
    assert len(found) == 600
    assert [pq.read_metadata(p).num_rows for p in store.shards(tmp_path / "tasks")] == [500, 100]
    for place in (0, 255, 256, 499, 500, 599, -1, -600):
        assert found[place] == many[place]
    assert found[498:502] == many[498:502]
    with pytest.raises(IndexError):
        found[600]


def test_equal_tasks_make_equal_bytes(tmp_path, many):
    for name in ("a", "b"):
        write_tasks(tmp_path / name, many, size=500)
    for one, other in zip(*(store.shards(tmp_path / name) for name in ("a", "b")), strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_no_tasks_are_an_empty_sequence(tmp_path):
    write_tasks(tmp_path / "tasks", ())
    assert len(read_tasks(tmp_path / "tasks")) == 0
    assert list(read_tasks(tmp_path / "tasks")) == []


def test_nested_json_is_text_that_any_reader_can_show(tmp_path, make_task):
    write_tasks(tmp_path / "tasks", [make_task()])
    columns = store.table(tmp_path / "tasks", ["id", "conversation"]).to_pylist()[0]
    assert columns["id"] == "calendar-0"
    assert columns["conversation"].startswith('[{"role":"user","content":"Lunch on 2 March')


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("tools", "{", "it is not JSON"),
        ("tools", "{}", "tools is wrong"),
        ("conversation", '[{"role": "king"}]', "conversation.0.role is wrong"),
        ("checklists", "[NaN]", "it is not JSON"),
    ],
)
def test_a_row_that_does_not_hold_is_named(tmp_path, make_task, column, value, said):
    good, bad = (rows.columns_of(make_task(id=name)) for name in "ab")
    path = tmp_path / "part-00000.parquet"
    rows.write_rows(path, rows.TASK, [good, {**bad, column: value}])
    with pytest.raises(TaskError, match=f"row group 0, row 1: {said}.*run the stage that writes"):
        read_tasks(tmp_path)[0]


def test_a_folder_without_tasks_says_what_to_do(tmp_path):
    with pytest.raises(TaskError, match="run the stage that writes it"):
        read_tasks(tmp_path / "none")
    (tmp_path / "part-00000.parquet").write_bytes(b"PAR1 it is not")
    with pytest.raises(TaskError, match="is no Parquet file"):
        read_tasks(tmp_path)


def test_a_write_that_fails_leaves_the_old_folder_and_nothing_else(tmp_path, make_task):
    folder = tmp_path / "tasks"
    write_tasks(folder, [make_task()])

    def broken():
        yield make_task(id="b")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_tasks(folder, broken())
    assert [task.id for task in read_tasks(folder)] == ["calendar-0"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks"]


def test_rejections_are_read_in_order(tmp_path):
    given = [{"source": "logs", "record": f"a.jsonl:{n}", "reason": "bad: no"} for n in range(3)]
    rows.write_rows(tmp_path / "part-00000.parquet", rows.REJECTED, given)
    assert [rejected.record for rejected in read_rejected(tmp_path)] == [
        "a.jsonl:0", "a.jsonl:1", "a.jsonl:2"
    ]  # fmt: skip
