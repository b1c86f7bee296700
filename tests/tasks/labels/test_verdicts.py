import re
from decimal import Decimal
from pathlib import Path

import pytest

from envace.errors import TaskError
from envace.tasks.labels.verdicts import Verdicts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "verdicts.jsonl"
    with Verdicts(path) as verdicts:
        verdicts.add("a", "one\ntwo", Decimal("0.1"))
        verdicts.add("b", None, Decimal("0.2"))
        assert verdicts.get("a") == "one\ntwo"
        verdicts.add("c", "drei ✓", Decimal("0.3"))
    return path


def test_answers_and_what_they_cost_are_there_again(path: Path) -> None:
    with Verdicts(path) as verdicts:
        assert [verdicts.get(key) for key in "abcd"] == ["one\ntwo", None, "drei ✓", None]
        assert verdicts.spent == Decimal("0.6")


@pytest.mark.parametrize("lost", [1, 5, 40])
def test_a_half_written_last_line_goes_and_the_next_takes_its_place(path: Path, lost: int) -> None:
    path.write_bytes(path.read_bytes()[:-lost])
    with Verdicts(path) as verdicts:
        assert verdicts.get("c") is None
        verdicts.add("d", "vier", Decimal(0))
    with Verdicts(path) as verdicts:
        assert [verdicts.get(key) for key in "abcd"] == ["one\ntwo", None, None, "vier"]


def test_a_file_of_something_else_is_left_alone(path: Path) -> None:
    path.write_text('{"key": "a"}\n')
    wanted = f"{path}, line 1 is no answer of a model; delete that line."
    with pytest.raises(TaskError, match=re.escape(wanted)), Verdicts(path):
        pass
    assert path.read_text() == '{"key": "a"}\n'


def test_two_runs_do_not_share_a_file(path: Path) -> None:
    with Verdicts(path), pytest.raises(TaskError, match="in use by another run"), Verdicts(path):
        pass
