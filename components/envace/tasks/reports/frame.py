"""What the data gate looks at: one row of numbers and short texts for each task of both sides.

Tasks are read as the next stages will read them, one at a time; a row takes about a kilobyte,
whatever its task's size. What the two sides must not share is counted in the rows of the train
side, so that an expectation on one column can hold it.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from envace.tasks.curation.split import definition
from envace.tasks.overlap.exact import content_hash
from envace.tasks.store import read_tasks, table
from envace.tasks.task import Task

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = {
    "id": "str",
    "source": "str",
    "domain": "str",
    "tier": "str",
    "split": "str",
    "content": "str",
    "n_tools": "int64",
    "n_turns": "int64",
    "n_calls": "int64",
    "n_tokens": "float64",
    "weights_sum": "float64",
    "shared_families": "int64",
    "shared_tools": "int64",
}
CHUNK = 2_000
"""Rows that are in memory as Python objects."""

# Data Docs writes values into its page as they are: untrusted text is escaped here.
_escaped = lru_cache(maxsize=4096)(html.escape)
Row = dict[str, object]


@dataclass(frozen=True)
class Other:
    """What the held-out side has and the train side must not."""

    families: frozenset[str] = frozenset()
    tools: frozenset[bytes] = frozenset()


def frame(train: Path, heldout: Path) -> "DataFrame":
    """One row a task of the two folders. Raises `TaskError` for a task that does not read."""
    import pandas as pd

    held = read_tasks(heldout)
    families = frozenset(table(heldout, ["family"]).column("family").unique().to_pylist()) - {""}
    other = Other(families, frozenset(definition(tool) for task in held for tool in task.tools))
    parts = [pd.DataFrame([], columns=list(COLUMNS)).astype(COLUMNS)]
    for rows in (_train_rows(train, other), (row_of(task, "heldout", None) for task in held)):
        while chunk := list(islice(rows, CHUNK)):
            parts.append(pd.DataFrame(chunk).astype(COLUMNS))
    return pd.concat(parts, ignore_index=True)


def row_of(task: Task, side: str, tokens: int | None, other: Other = Other()) -> Row:
    """The row of a task; one that was not counted has no `tokens`."""
    sums = [sum(item.weight for item in items) for items in task.checklists]
    return {
        "id": html.escape(task.id),
        "source": _escaped(task.source),
        "domain": _escaped(task.domain),
        "tier": _escaped(task.tier),
        "split": side,
        "content": content_hash(task),
        "n_tools": len(task.tools),
        "n_turns": len(task.user_messages),
        "n_calls": len(task.recorded_calls),
        "n_tokens": tokens,
        # The turn that is farthest from 1; none without checklists.
        "weights_sum": max(sums, key=lambda total: abs(total - 1), default=None),
        "shared_families": int(task.family in other.families),
        "shared_tools": sum(definition(tool) in other.tools for tool in task.tools),
    }


def _train_rows(folder: Path, other: Other) -> Iterator[Row]:
    """A train task that was not counted has 0 tokens, which no expectation lets pass."""
    counted: Sequence[int | None] = table(folder, ["n_tokens"]).column("n_tokens").to_pylist()
    for task, tokens in zip(read_tasks(folder), counted, strict=True):
        yield row_of(task, "train", tokens or 0, other)
