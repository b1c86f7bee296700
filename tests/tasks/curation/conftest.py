"""A source in memory, and a desk in a temporary folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from envace.artifacts import Cache
from envace.tasks.curation.curate import Desk, Origin
from envace.tasks.source import Rejected
from envace.tasks.task import Task
from tests.fixtures.shelf import Shelf, words


@pytest.fixture
def shelf() -> Callable[..., list[Origin]]:
    """The records as one source."""

    def build(records: Sequence[Task | Rejected], size: int = 4) -> list[Origin]:
        key = str(hash(tuple(str(record) for record in records)))
        return [Origin("shelf", key, Shelf(tuple(records), size))]

    return build


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Work and outcome under the test's folder; a token is a word."""
    cache = Cache(tmp_path / "cache")
    return Desk(cache, words, "words", tmp_path / "work", tmp_path / "out" / "tasks")
