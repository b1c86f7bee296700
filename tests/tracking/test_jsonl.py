import math
from pathlib import Path

import pytest

from envace.tracking.sinks.jsonl import Config, build, read_rows
from envace.tracking.tracker import Row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics" / "train.jsonl"


def write(path: Path, steps: range, value: float, first_step: int = 1) -> None:
    sink = build(Config(path=path), "run", first_step)
    for step in steps:
        sink.log(Row(step, {"reward/mean": value}))
    sink.close()


def test_a_step_is_one_json_object_a_line(path):
    write(path, range(1, 2), 0.5)
    assert path.read_text() == '{"step": 1, "reward/mean": 0.5}\n'


def test_a_row_is_in_the_file_before_the_sink_is_closed(path):
    sink = build(Config(path=path), "run")
    sink.log(Row(1, {"reward/mean": 0.5}))
    assert len(read_rows(path)) == 1
    sink.close()


def test_a_resumed_run_replaces_what_the_dead_attempt_wrote_past_its_checkpoint(path):
    write(path, range(1, 4), 0.1)
    write(path, range(2, 5), 0.2, first_step=2)
    found = [(row.step, row.metrics["reward/mean"]) for row in read_rows(path)]
    assert found == [(1, 0.1), (2, 0.2), (3, 0.2), (4, 0.2)]


def test_a_new_run_starts_an_empty_file(path):
    write(path, range(1, 4), 0.1)
    write(path, range(1, 2), 0.2)
    assert read_rows(path) == (Row(1, {"reward/mean": 0.2}),)


def test_half_a_line_left_by_a_kill_is_dropped(path):
    write(path, range(1, 2), 0.1)
    with path.open("a") as file:
        file.write('{"step": 2, "rew')
    write(path, range(2, 3), 0.3, first_step=2)
    assert [row.step for row in read_rows(path)] == [1, 2]


def test_a_value_that_is_not_finite_is_null_in_the_file_and_nan_when_read(path):
    write(path, range(1, 2), math.inf)
    assert path.read_text() == '{"step": 1, "reward/mean": null}\n'
    assert math.isnan(read_rows(path)[0].metrics["reward/mean"])
