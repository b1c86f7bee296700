"""The parts of a page: tables, bars and histograms as HTML and inline SVG that need nothing else.

Names, ids and samples come from data sets and are untrusted: a function here escapes every text
that it is given, save arguments called `cell`, `cells` or `body`, which hold parts made here.
"""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from envace.files import write_atomically

SIDES = {"train": "train", "heldout": "held out"}
BINS = 24
"""Columns of a histogram, at most."""
MOST_ROWS = 30
"""Rows of a table of names; the rest is summed up in one row."""


def write(path: Path, heading: str, summary: str, body: Sequence[str]) -> None:
    """Replaces `path` by one self-contained page."""
    template = Template(files("envace.tasks.reports").joinpath("page.html").read_text("utf-8"))
    text = template.substitute(
        title=escape(heading),
        heading=escape(heading),
        summary=escape(summary),
        body="\n".join(body),
    )
    # A lone surrogate has no encoding: it is shown as a question mark.
    write_atomically(path, text.encode(errors="replace"))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; a head that ends in `#` is a column of numbers, its cells are parts."""
    classes = [' class="number"' if head.endswith("#") else "" for head in heads]
    top = "".join(
        f"<th{kind}>{escape(head.rstrip('#'))}</th>"
        for head, kind in zip(heads, classes, strict=True)
    )
    lines = (
        "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(cells, classes, strict=True))
        for cells in rows
    )
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="table"><table><thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody>'
        "</table></div>"
    )


def bar(label: str, shares: Mapping[str, float]) -> str:
    """One bar out of the given shares (0 to 1) of classes, from the left."""
    rects, at = "", 0.0
    for kind, share in shares.items():
        rects += f'<rect class="{kind}" x="{100 * at:.3f}" width="{100 * share:.3f}" height="10"/>'
        at += share
    return (
        f'<div class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" height="100%" '
        f'role="img" aria-label="{escape(label)}">{rects}</svg></div>'
    )


def key(kinds: Mapping[str, str]) -> str:
    """What the colours mean."""
    marks = "".join(f'<i class="{kind}"></i>{escape(name)}' for kind, name in kinds.items())
    return f'<p class="key">{marks}</p>'


def counted(head: str, train: Mapping[str, int], heldout: Mapping[str, int]) -> str:
    """A table of names with their counts on both sides, the most frequent first."""
    names = {name: train.get(name, 0) + heldout.get(name, 0) for name in {**train, **heldout}}
    ordered = sorted(names, key=lambda name: (-names[name], name))
    shown, rest = ordered[:MOST_ROWS], ordered[MOST_ROWS:]
    lines = [(name or "–", train.get(name, 0), heldout.get(name, 0)) for name in shown]
    if rest:
        sums = [sum(side.get(name, 0) for name in rest) for side in (train, heldout)]
        lines.append((f"{len(rest):,} more", sums[0], sums[1]))
    total = max(sum(names.values()), 1)
    rows: list[list[str]] = []
    for name, *counts in lines:
        shares = {side: count / total for side, count in zip(SIDES, counts, strict=True)}
        said = f"{name}: {counts[0]:,} train, {counts[1]:,} held out"
        rows.append([escape(name), *(f"{count:,}" for count in counts), bar(said, shares)])
    return table((head, "Train#", "Held out#", ""), rows)


def histogram(title: str, sides: Mapping[str, Sequence[int]]) -> str:
    """How a whole number is distributed on each side: columns of equal width, shares of a side."""
    values = [value for side in sides.values() for value in side]
    if not values:
        return ""
    low, high = min(values), max(values)
    width = max(-(-(high - low + 1) // BINS), 1)
    bins = -(-(high - low + 1) // width)
    heights = {kind: _shares(side, low, width, bins) for kind, side in sides.items() if side}
    top = max(max(shares) for shares in heights.values())
    breadth = 100 / bins / len(heights)
    rects = "".join(
        f'<rect class="{kind}" x="{(number * len(heights) + place + 0.06) * breadth:.2f}" '
        f'y="{100 - 100 * share / top:.2f}" width="{0.88 * breadth:.2f}" '
        f'height="{100 * share / top:.2f}"/>'
        for place, (kind, shares) in enumerate(heights.items())
        for number, share in enumerate(shares)
    )
    label = f"{title}: {low:,} to {high:,}"
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{rects}</svg>'
        f'<div class="axis"><span>{low:,}</span><span>highest column {100 * top:.0f} %</span>'
        f"<span>{high:,}</span></div></figure>"
    )


def _shares(values: Sequence[int], low: int, width: int, bins: int) -> list[float]:
    counts = [0] * bins
    for value in values:
        counts[(value - low) // width] += 1
    return [count / len(values) for count in counts]
