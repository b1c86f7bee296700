import math

import pytest

from envace.tracking.tracker import Row, Tracker, write_curve


class ListSink:
    """Keeps rows in a list."""

    def __init__(self, fails: bool = False) -> None:
        self.rows: list[Row] = []
        self.closed = False
        self.fails = fails

    def log(self, row: Row) -> None:
        self.rows.append(row)

    def close(self, failed: bool = False) -> None:
        self.closed, self.failed = True, failed
        if self.fails:
            raise OSError("disk full")


def test_every_sink_gets_every_row():
    sinks = ListSink(), ListSink()
    Tracker(sinks).log(3, {"reward/mean": 1})
    assert [sink.rows for sink in sinks] == [[Row(3, {"reward/mean": 1.0})]] * 2


@pytest.mark.parametrize("name", ["loss", "/mean", "Reward/mean", "reward/", "reward mean/x"])
def test_a_name_without_its_area_is_refused(name: str):
    with pytest.raises(AssertionError, match="area/quantity"):
        Tracker([]).log(0, {name: 1.0})


def test_one_sink_that_cannot_close_does_not_keep_the_others_open():
    good, bad = ListSink(), ListSink(fails=True)
    with pytest.raises(OSError, match="disk full"):
        Tracker([good, bad]).close()
    assert good.closed


def test_the_sinks_of_a_run_that_broke_off_are_closed_and_told_so():
    sink = ListSink()
    with pytest.raises(KeyboardInterrupt), Tracker([sink]):
        raise KeyboardInterrupt
    assert (sink.closed, sink.failed) == (True, True)


def test_a_curve_has_a_column_a_metric_and_an_empty_cell_where_a_step_lacks_it(tmp_path):
    rows = [Row(0, {"reward/mean": 0.5}), Row(1, {"loss/act": 2.0, "reward/mean": math.nan})]
    write_curve(rows, tmp_path / "plots" / "curve.csv")
    text = (tmp_path / "plots" / "curve.csv").read_text()
    assert text == "step,loss/act,reward/mean\n0,,0.5\n1,2.0,nan\n"
