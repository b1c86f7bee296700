import pytest

from envace.tasks.reports.expectations import check, frame, suite, validate

# Great Expectations imports two modules that Python has deprecated.
pytestmark = [
    pytest.mark.filterwarnings("ignore:module 'sre_constants':DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:module 'sre_parse':DeprecationWarning"),
]

SPOILT = {
    "split": "heldout",
    "id": "same",
    "content": "same",
    "source": "",
    "domain": "",
    "tier": "",
    "n_tools": 0,
    "n_turns": 51,
    "n_calls": 201,
    "weights_sum": 0.99,
}
MISSING = {"id": None, "source": None, "domain": None, "tier": None, "n_calls": 0}


@pytest.fixture
def tasks(make_task):
    return frame([make_task(id=f"t{n}", reply=f"Done {n}.") for n in range(3)], [make_task()])


def test_good_tasks_pass_and_leave_a_page(tmp_path, make_task):
    folder = tmp_path / "docs"
    for _ in range(2):  # the second run replaces the first one's page
        found = validate([make_task(id="a", reply="Ok.")], [make_task()], folder)
    assert (found.success, found.failures) == (True, ())
    assert found.n_expectations == len(suite()) == 16
    assert found.page.read_text().startswith("<!DOCTYPE html>")
    assert [entry.name for entry in tmp_path.iterdir()] == ["docs"]


def test_each_expectation_can_fail(tmp_path, tasks):
    failed: set[tuple[str, str]] = set()
    for values in (SPOILT, MISSING):
        found = check(tasks.assign(**values), suite(), tmp_path / "docs")
        assert not found.success
        failed |= {tuple(line.split(", got")[0].split(": ", 1)) for line in found.failures}
    column_rules = suite()[1:]
    assert {(column, text.split(" {")[0]) for column, text in failed} == {
        (rule.column, rule.kind.replace("_", " ")) for rule in column_rules
    }


def test_an_empty_data_set_fails(tmp_path):
    found = validate([], [], tmp_path / "docs")
    assert not found.success
    assert found.failures[0] == "the data set is empty"
    assert "table row count to be between {'min_value': 1}, got 0" in found.failures[1]


def test_an_empty_suite_fails(tmp_path, tasks):
    found = check(tasks, (), tmp_path / "docs")
    assert (found.success, found.n_expectations) == (False, 0)
    assert found.failures == ("the suite is empty: it holds no expectation",)


def test_one_bad_turn_among_good_ones_is_seen(make_task):
    item = make_task().checklists[0][0]
    half = item.model_copy(update={"weight": 0.5})
    assert frame([make_task(checklists=[[item], [half]])], []).weights_sum[0] == 0.5


def test_hostile_text_stays_text_on_the_page(tmp_path, make_task):
    task = make_task(id="<script>alert(1)</script>")
    found = validate([task, task.model_copy(update={"system": "x"})], [], tmp_path / "docs")
    pages = [page.read_text() for page in found.page.parent.rglob("*.html")]
    assert any("&lt;script&gt;alert(1)" in page for page in pages)
    assert not any("<script>alert(1)" in page for page in pages)
