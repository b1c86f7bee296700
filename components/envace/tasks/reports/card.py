"""The data card: what the tasks are, where they come from and what was done to them, as Markdown.

It is written from the report of the curation, the headers of the source files, the parameters and
the hashes of the shards; nothing in it depends on time or place, so the same data have the same
card. What data sets wrote is untrusted and stays on its line and in its cell.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from envace.tasks.curation.report import CurationReport, Spread
from envace.tasks.reports.explain import explain
from envace.tasks.reports.page import NUMBERS, SLICES, count_of, summary

FIELDS = ("Source", "License", "Schema", "Size")
MOST_ROWS = 50
"""Rows of a table of names; the rest is summed up in one row."""
_HEADER = re.compile(rf"^({'|'.join(FIELDS)}): (.+?)(?=\n\w+: |\n\n|\Z)", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"([\\`*_\[\]|#~$])")


@dataclass(frozen=True)
class Header:
    """What the file of a source plug-in says of its data set."""

    name: str
    about: str
    """Its first line."""
    fields: Mapping[str, str]
    """By the names in `FIELDS`."""


@dataclass(frozen=True)
class Card:
    """What a data card is written from."""

    profile: str
    """Name of the profile."""
    report: CurationReport
    sources: Sequence[Header]
    """In the order in which they are read."""
    curate: Mapping[str, Any]
    """The parameters of the curation, plain."""
    expectations: int
    """How many expectations of the validation hold."""
    data: str
    """Content hash of the train side, as the lineage of a model version names it."""
    files: Mapping[str, str]
    """The sha256 of each shard, by its path below the folder of the tasks."""


def header(name: str, docstring: str) -> Header:
    """What the docstring of the source plug-in `name` says."""
    title, _, rest = docstring.strip().partition("\n")
    found = {key: " ".join(text.split()) for key, text in _HEADER.findall(rest)}
    return Header(name, title.removeprefix("Source: "), found)


def write(card: Card) -> str:
    """The card as Markdown."""
    report, rules = card.report, card.curate["rules"]
    blocks = (
        f"# Data card: {_plain(card.profile)}",
        "Tasks for training a tool-using policy in two roles: recorded conversations with their "
        f"tools and checklists. {summary(report)}",
        "## Sources and licences\n\n" + _sources(card),
        "## Slices\n\n" + "\n\n".join(_slice(report, *one) for one in SLICES.items()),
        "## Lengths\n\n" + _lengths(report),
        "## Filters\n\n" + _filters(report, rules),
        "## Duplicates\n\n" + _duplicates(report, rules),
        "## Decontamination\n\n" + _decontamination(report),
        "## Personal data\n\n" + _personal(report),
        "## Split\n\n" + _split(report, rules),
        f"## Validation\n\nAll {card.expectations} expectations hold; reports/data_docs has them.",
        "## Files\n\n" + _files(card),
        f"## Parameters\n\n```json\n{json.dumps(card.curate, indent=1, sort_keys=True)}\n```",
    )
    return "\n\n".join(blocks) + "\n"


def _sources(card: Card) -> str:
    rows: list[Sequence[object]] = []
    for one in {source.name: source for source in card.sources}.values():
        counts = card.report.sources.get(one.name)
        numbers = (counts.records, counts.train, counts.heldout) if counts else (0, 0, 0)
        rows.append([one.name, *(one.fields.get(field, "–") for field in FIELDS), *numbers])
    return _table(("Name", *FIELDS, "Read", "Train", "Held out"), rows)


def _slice(report: CurationReport, name: str, head: str) -> str:
    train, heldout = getattr(report.train, name), getattr(report.heldout, name)
    counts = {one: (train.get(one, 0), heldout.get(one, 0)) for one in {**train, **heldout}}
    ordered = sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))
    rows: list[Sequence[object]] = [(one or "–", *both) for one, both in ordered[:MOST_ROWS]]
    if rest := ordered[MOST_ROWS:]:
        sums = (sum(both[side] for _, both in rest) for side in (0, 1))
        rows.append((f"{len(rest):,} more", *sums))
    return _table((head, "Train", "Held out"), rows)


def _lengths(report: CurationReport) -> str:
    rows: list[Sequence[object]] = []
    for side, spreads in (("train", report.train.spreads), ("held out", report.heldout.spreads)):
        rows += [
            (said.capitalize(), side, *_numbers(spreads[name]))
            for name, said in NUMBERS.items()
            if name in spreads
        ]
    return _table(("", "Side", "Least", "Median", "90th percentile", "Most"), rows)


def _numbers(spread: Spread) -> tuple[int, ...]:
    return (spread.least, spread.median, spread.p90, spread.most)


def _filters(report: CurationReport, rules: Mapping[str, Any]) -> str:
    skipped = ", ".join(rules["skip"]) or "none"
    rows = [(reason.code, reason.count, explain(reason.code)) for reason in report.reasons]
    said = f"Rules that were skipped: {_plain(skipped)}."
    return f"{said}\n\n" + (
        _table(("Reason", "Records", ""), rows) if rows else "None dropped any."
    )


def _duplicates(report: CurationReport, rules: Mapping[str, Any]) -> str:
    equal, near = count_of(report, "duplicate_of"), count_of(report, "near_duplicate_of")
    said = f"{equal:,} records equal an earlier one"
    if not rules["near"]:
        return f"{said}; near-duplicates were not looked for."
    return (
        f"{said}; {near:,} nearly do: their estimated Jaccard similarity (MinHash) is "
        f"{rules['near']:g} or more."
    )


def _decontamination(report: CurationReport) -> str:
    if not report.benchmarks:
        return "No benchmark was compared with."
    items = ", ".join(f"{_plain(name)} ({n:,})" for name, n in report.benchmarks.items())
    dropped = count_of(report, "contaminated")
    return f"Compared with the items of {items}: {dropped:,} records were dropped."


def _personal(report: CurationReport) -> str:
    train, heldout = report.train.pii, report.heldout.pii
    if not train and not heldout:
        return "The scan found none in the tasks that were kept."
    rows = [
        (kind, train.get(kind, 0), heldout.get(kind, 0)) for kind in sorted({**train, **heldout})
    ]
    said = "Tasks that hold text of such a form, counted by patterns; nothing was cut."
    return f"{said}\n\n{_table(('Kind', 'Train', 'Held out'), rows)}"


def _split(report: CurationReport, rules: Mapping[str, Any]) -> str:
    named = ", ".join(rules["held_out"]) or "none"
    share = rules["held_out_share"]
    shares = share.items() if isinstance(share, Mapping) else [("each source", share)]
    drawn = ", ".join(f"{_plain(name)}: {part:g}" for name, part in shares)
    return (
        "By family of tools, so that a tool that validates never trains. Families held out by "
        f"name: {_plain(named)}. Share of the others held out by hash: {drawn} (salt "
        f"{_plain(rules['salt'])}). {report.train.tools:,} tool definitions train, "
        f"{report.heldout.tools:,} are held out; from {report.trimmed:,} tasks a candidate tool of "
        "the other side was taken away."
    )


def _files(card: Card) -> str:
    rows = [(f"`{path}`", f"`{digest}`") for path, digest in card.files.items()]
    said = f"The train side as a whole is `{card.data}`."
    return f"{said}\n\n{_table(('File', 'sha256'), rows, plain=False)}"


def _table(heads: Iterable[str], rows: Iterable[Sequence[object]], plain: bool = True) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([_cell(cell, plain) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object, plain: bool) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return _plain(str(value)) if plain else str(value)


def _plain(text: str) -> str:
    """`text` on one line and without a meaning for Markdown or HTML."""
    return _MARKS.sub(r"\\\1", escape(" ".join(text.split()), quote=False))
