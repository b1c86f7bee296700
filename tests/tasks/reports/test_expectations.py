"""The data gate: good tasks pass it, and each expectation alone can stop them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from envace.tasks.curation.config import Config
from envace.tasks.reports.expectations import check, failures, suite, validate
from envace.tasks.reports.frame import COLUMNS, row_of
from envace.tasks.rows import KEPT, Shards, columns_of

# Great Expectations imports two modules that Python has deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore:module 'sre_constants':DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:module 'sre_parse':DeprecationWarning"),
]

LIMIT = 100
CONFIG = Config(max_tokens=LIMIT)
BROKEN: dict[str, dict[str, Any]] = {
    "train_tasks": {"split": "heldout"},
    "heldout_tasks": {"split": "train"},
    "ids_unique": {"id": ["a", "b", "a"]},
    "contents_unique": {"content": ["a", "b", "a"]},
    "id_there": {"id": [None, "b", "c"]},
    "source_there": {"source": ["s", None, "s"]},
    "domain_there": {"domain": ["s", None, "s"]},
    "tier_there": {"tier": ["s", None, "s"]},
    "source_said": {"source": ["s", "", "s"]},
    "domain_said": {"domain": ["s", "", "s"]},
    "tier_said": {"tier": ["s", "", "s"]},
    "tools": {"n_tools": [1, 129, 1]},
    "turns": {"n_turns": [1, 51, 50]},
    "user_messages": {"n_turns": [1, 0, 50]},
    "calls": {"n_calls": [0, 201, 1]},
    "some_call": {"n_calls": 0},
    "tokens": {"n_tokens": [LIMIT, LIMIT + 1, None]},
    "weights": {"weights_sum": [1.0, 0.99, None]},
    "family_on_both_sides": {"shared_families": [0, 1, 0]},
    "tool_on_both_sides": {"shared_tools": [0, 2, 0]},
}
"""Columns of the frame that break one expectation each."""


@pytest.fixture
def tasks(make_task) -> pd.DataFrame:
    """Two tasks that train and one that is held out."""
    rows = [row_of(make_task(id=f"t{n}", reply=f"Done {n}."), "train", 50) for n in range(2)]
    rows.append(row_of(make_task(id="h"), "heldout", None))
    return pd.DataFrame(rows).astype(COLUMNS)


def names(found: tuple[str, ...]) -> list[str]:
    return [line.partition(":")[0] for line in found]


def test_good_tasks_pass_and_leave_a_page(tmp_path: Path, make_task) -> None:
    other = [{"name": "other", "parameters": {}}]
    for side, tokens, task in (
        ("train", 50, make_task(id="a")),
        ("heldout", None, make_task(id="b", tools=other)),
    ):
        with Shards(tmp_path / side, KEPT, 9) as out:
            out.add({**columns_of(task), "n_tokens": tokens})
    folder = tmp_path / "docs"
    for _ in range(2):  # the second run replaces the first one's page
        found = validate(tmp_path / "train", tmp_path / "heldout", CONFIG, folder)
    assert (found.success, found.failures) == (True, ())
    assert found.n_expectations == len(suite(CONFIG)) == len(BROKEN) + 1
    assert found.page.read_text().startswith("<!DOCTYPE html>")
    assert {entry.name for entry in tmp_path.iterdir()} == {"train", "heldout", "docs"}


def test_the_row_count_comes_first() -> None:
    first, *others = suite(CONFIG)
    assert (first.name, first.kind) == ("tasks", "table_row_count_to_be_between")
    assert {rule.name for rule in others} == set(BROKEN)


def test_nothing_fails_on_good_tasks(tasks: pd.DataFrame) -> None:
    assert failures(tasks, suite(CONFIG)) == ()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_frame_fails_exactly_its_expectation(name: str, tasks: pd.DataFrame) -> None:
    assert names(failures(tasks.assign(**BROKEN[name]), suite(CONFIG))) == [name]


def test_what_may_be_many_is_not_held_against_the_limits(tasks: pd.DataFrame) -> None:
    many = tasks.assign(n_tools=129, n_turns=51, n_calls=201)
    assert names(failures(many, suite(CONFIG))) == ["tools", "turns", "calls"]
    assert failures(many, suite(Config(skip=("too_many",)))) == ()


def test_an_empty_data_set_fails(tmp_path: Path, tasks: pd.DataFrame) -> None:
    found = check(tasks.head(0), suite(CONFIG), tmp_path / "docs")
    assert not found.success
    assert found.failures[0] == "the data set is empty"
    assert "tasks: table row count to be between {'min_value': 1}, got 0" in found.failures


def test_an_empty_suite_fails(tmp_path: Path, tasks: pd.DataFrame) -> None:
    found = check(tasks, (), tmp_path / "docs")
    assert (found.success, found.n_expectations) == (False, 0)
    assert found.failures == ("the suite is empty: it holds no expectation",)


def test_a_failure_says_what_was_found(tasks: pd.DataFrame) -> None:
    (said,) = failures(tasks.assign(**BROKEN["calls"]), suite(CONFIG))
    expected = "calls: n_calls: column values to be between {'min_value': 0.0, 'max_value': 200.0}"
    assert said == f"{expected}, got [201]"


def test_hostile_text_stays_text_on_the_page(tmp_path: Path, make_task) -> None:
    row = row_of(make_task(id="<script>alert(1)</script>"), "train", 50)
    twice = pd.DataFrame([row, row]).astype(COLUMNS)
    found = check(twice, suite(CONFIG), tmp_path / "docs")
    pages = [page.read_text() for page in found.page.parent.rglob("*.html")]
    assert any("&lt;script&gt;alert(1)" in page for page in pages)
    assert not any("<script>alert(1)" in page for page in pages)
