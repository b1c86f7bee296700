from pathlib import Path

import pytest

from envace.errors import TaskError
from envace.tasks.curation.report import Spread
from envace.tasks.reports.stats import Slice, Stats, middle, stats, write_page
from envace.tasks.rows import KEPT, Shards, columns_of


@pytest.fixture
def folders(tmp_path: Path, make_task) -> tuple[Path, Path]:
    """Three tasks that train and one that is held out, which has no count of tokens."""
    rows = {
        "train": [("shop", 2, 100), ("shop", 4, 300), ("desk", 1, 50)],
        "heldout": [("shop", 9, None)],
    }
    for side, tasks in rows.items():
        with Shards(tmp_path / side, KEPT, 2) as out:
            for number, (domain, calls, tokens) in enumerate(tasks):
                task = make_task(id=f"{side}-{number}", domain=domain)
                counts = {"n_turns": 1, "n_calls": calls, "n_tools": 1, "n_tokens": tokens}
                out.add({**columns_of(task), "language": "en", **counts})
    return tmp_path / "train", tmp_path / "heldout"


def test_slices_are_counted_a_side_and_their_lengths_over_both(folders) -> None:
    found = stats(*folders, by="domain")
    assert [(one.name, one.counts) for one in found.slices] == [
        ("shop", {"train": 2, "heldout": 1}),
        ("desk", {"train": 1, "heldout": 0}),
    ]
    shop = found.slices[0]
    assert shop.spreads["n_calls"] == Spread(least=2, median=4, p90=9, most=9)
    assert shop.spreads["n_tokens"] == Spread(least=100, median=100, p90=300, most=300)
    assert found.tasks == {"train": 3, "heldout": 1}
    assert (middle(shop, "n_calls"), middle(shop, "gone")) == ("4 (9)", "–")


def test_any_small_column_tells_slices_apart(folders) -> None:
    assert [one.name for one in stats(*folders, by="tier").slices] == ["one_call"]


def test_many_slices_end_in_one_that_sums_up() -> None:
    counts = {"train": 2, "heldout": 1}
    many = Stats("tier", tuple(Slice(f"s{n}", counts, {}) for n in range(33)), {})
    assert [one.name for one in many.shown] == [*(f"s{n}" for n in range(30)), "3 more"]
    assert many.shown[-1].counts == {"train": 6, "heldout": 3}
    assert many.tasks == {"train": 66, "heldout": 33}


def test_the_page_has_a_table_and_a_plot_a_number(folders, tmp_path: Path) -> None:
    write_page(stats(*folders, by="domain"), tmp_path / "stats.html")
    page = (tmp_path / "stats.html").read_text("utf-8")
    assert "3 tasks train, 1 are held out." in page
    assert page.count("<figure>") == 4
    assert "<td><b>shop</b></td>" in page


def test_a_name_of_a_data_set_stays_text(tmp_path: Path, make_task) -> None:
    for side in ("train", "heldout"):
        with Shards(tmp_path / side, KEPT, 2) as out:
            out.add({**columns_of(make_task(domain="<script>")), "language": "en"})
    write_page(stats(tmp_path / "train", tmp_path / "heldout", "domain"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_folder_without_tasks_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="holds no tasks; run the stage"):
        stats(tmp_path, tmp_path, by="domain")
