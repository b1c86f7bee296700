"""Tasks in numbers: how many each slice has and how long they are, by the small columns alone."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from envace.tasks.curation.report import Spread, spread
from envace.tasks.reports.markup import MOST_ROWS, SIDES, bar, histogram, key, table, write
from envace.tasks.store import table as columns

SLICES = ("domain", "source", "tier", "family", "language")
NUMBERS = {
    "n_turns": "user messages",
    "n_calls": "tool calls",
    "n_tools": "tools offered",
    "n_tokens": "tokens",
}
"""Columns of numbers and what each counts; tokens are counted on the train side alone."""


@dataclass(frozen=True)
class Slice:
    """The tasks that share a value of a column."""

    name: str
    counts: Mapping[str, int]
    """Tasks a side."""
    spreads: Mapping[str, Spread]
    """Of each number that some task of it has, both sides together."""


@dataclass(frozen=True)
class Stats:
    """Both sides of the split."""

    by: str
    """The column that tells the slices apart."""
    slices: tuple[Slice, ...]
    """The largest first."""
    numbers: Mapping[str, Mapping[str, "array[int]"]]
    """Every value by number and side."""

    @property
    def tasks(self) -> Mapping[str, int]:
        """Tasks a side."""
        return _summed(self.slices)

    @property
    def shown(self) -> tuple[Slice, ...]:
        """The slices of a table; where there are too many for one, the last is all of the rest."""
        first, rest = self.slices[:MOST_ROWS], self.slices[MOST_ROWS:]
        return (*first, Slice(f"{len(rest):,} more", _summed(rest), {})) if rest else first


def stats(train: Path, heldout: Path, by: str) -> Stats:
    """The tasks of two folders by the column `by`. Raises `TaskError` where none were written."""
    slices: dict[str, dict[str, int]] = {}
    parts: dict[tuple[str, str], array[int]] = {}
    numbers = {name: {side: array("q") for side in SIDES} for name in NUMBERS}
    for side, folder in zip(SIDES, (train, heldout), strict=True):
        read: Any = columns(folder, [by, *NUMBERS])
        for batch in read.to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                name = row[by]
                slices.setdefault(name, dict.fromkeys(SIDES, 0))[side] += 1
                for number in NUMBERS:
                    if (value := row[number]) is not None:
                        parts.setdefault((name, number), array("q")).append(value)
                        numbers[number][side].append(value)
    found = [
        Slice(name, counts, {n: spread(parts[name, n]) for n in NUMBERS if (name, n) in parts})
        for name, counts in slices.items()
    ]
    ordered = sorted(found, key=lambda one: (-sum(one.counts.values()), one.name))
    return Stats(by, tuple(ordered), numbers)


def _summed(slices: Sequence[Slice]) -> dict[str, int]:
    return {side: sum(one.counts[side] for one in slices) for side in SIDES}


def write_page(found: Stats, path: Path) -> None:
    """Replaces `path` by a page of tables and plots that needs nothing else."""
    total = max(sum(found.tasks.values()), 1)
    rows = [_row(one, total) for one in found.shown]
    heads = (found.by.capitalize(), "Train#", "Held out#", "", *(f"{n}#" for n in NUMBERS.values()))
    plots = (histogram(said.capitalize(), found.numbers[n]) for n, said in NUMBERS.items())
    body = [
        f"<h2>By {escape(found.by)}</h2>",
        "<p>Of each number the median and, in brackets, the 90th percentile.</p>",
        key(SIDES),
        table(heads, rows),
        "<h2>How long they are</h2>",
        "<p>Columns of equal width; heights are shares of a side's tasks.</p>",
        key(SIDES),
        f'<div class="plots">{"".join(plots)}</div>',
    ]
    said = f"{found.tasks['train']:,} tasks train, {found.tasks['heldout']:,} are held out."
    write(path, "Tasks", said, body)


def middle(one: Slice, number: str) -> str:
    """The median of a number and its 90th percentile, for a table; a dash where none has it."""
    found = one.spreads.get(number)
    return f"{found.median:,} ({found.p90:,})" if found else "–"


def _row(one: Slice, total: int) -> list[str]:
    shares = {side: count / total for side, count in one.counts.items()}
    said = ", ".join(f"{count:,} {SIDES[side]}" for side, count in one.counts.items())
    return [
        f"<b>{escape(one.name) or '–'}</b>",
        *(f"{count:,}" for count in one.counts.values()),
        bar(f"{one.name}: {said}", shares),
        *(middle(one, number) for number in NUMBERS),
    ]
