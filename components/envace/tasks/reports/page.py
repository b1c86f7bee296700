"""The outcome of a curation as one HTML file: what was read, what was kept, what went and why.

Everything that comes from a data set is untrusted and escaped; the page forbids itself scripts and
requests.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from envace.tasks.curation.report import CurationReport, Reason, Side, Spread
from envace.tasks.reports.explain import explain
from envace.tasks.reports.markup import bar, counted, key, table, write

SIDES = {"train": "train", "heldout": "held out", "dropped": "dropped"}
SLICES = {
    "domains": "Domain",
    "tiers": "Tier",
    "families": "Family of tools",
    "languages": "Language",
}
"""Counts of a side, and what one of its names is."""
NUMBERS = {"turns": "user messages", "calls": "tool calls", "tools": "tools offered"} | {
    "tokens": "tokens of the longest training sequence"
}


def write_page(report: CurationReport, path: Path) -> None:
    """Replaces `path` by the page of `report`."""
    body = [
        *_sources(report),
        *_reasons(report),
        *_leakage(report),
        *_kept(report),
        *_personal(report),
    ]
    write(path, "Curation", summary(report), body)


def summary(report: CurationReport) -> str:
    """Where the records went, in one sentence."""
    return (
        f"{report.records:,} records were read: {report.train.tasks:,} train, "
        f"{report.heldout.tasks:,} held out, {report.rejected:,} dropped, each for a reason."
    )


def count_of(report: CurationReport, code: str) -> int:
    """How many records the reason `code` dropped."""
    return sum(reason.count for reason in report.reasons if reason.code == code)


def _sources(report: CurationReport) -> list[str]:
    rows: list[list[str]] = []
    for name, counts in report.sources.items():
        fates = {"train": counts.train, "heldout": counts.heldout, "dropped": counts.rejected}
        shares = {kind: fate / max(counts.records, 1) for kind, fate in fates.items()}
        said = ", ".join(f"{fates[kind]:,} {SIDES[kind]}" for kind in fates)
        numbers = [f"{number:,}" for number in (counts.records, *fates.values())]
        rows.append([f"<b>{escape(name)}</b>", *numbers, bar(f"{name}: {said}", shares)])
    heads = ("Source", "Read#", "Train#", "Held out#", "Dropped#", "")
    return ["<h2>Where the records went</h2>", key(SIDES), table(heads, rows)]


def _reasons(report: CurationReport) -> list[str]:
    title = "<h2>Why records were dropped</h2>"
    if not report.reasons:
        return [title, "<p>None was.</p>"]
    most = report.reasons[0].count
    rows = [_reason(reason, most, report.records) for reason in report.reasons]
    return [title, table(("Reason", "Records#", "Share#", ""), rows)]


def _reason(reason: Reason, most: int, records: int) -> list[str]:
    by = ", ".join(f"{source} {count:,}" for source, count in reason.sources.items())
    samples = escape("\n".join(reason.samples))
    about = (
        f"<b><code>{escape(reason.code)}</code></b><br>{escape(explain(reason.code))}"
        f"<details><summary>{escape(by)}; the first {len(reason.samples)}</summary>"
        f"<pre>{samples}</pre></details>"
    )
    drawn = bar(f"{reason.code}: {reason.count:,}", {"reason": reason.count / most})
    share = f"{100 * reason.count / records:.1f} %"
    return [about, f"{reason.count:,}", share, drawn]


def _leakage(report: CurationReport) -> list[str]:
    items = ", ".join(f"{name} ({count:,})" for name, count in report.benchmarks.items())
    compared = (
        f"Every task was compared with the items of {items}, on prompts, identifiers and final "
        f"calls: {count_of(report, 'contaminated'):,} were dropped."
        if items
        else "No benchmark was compared with: curate.rules.decontaminate names none."
    )
    equal, near = count_of(report, "duplicate_of"), count_of(report, "near_duplicate_of")
    return [
        "<h2>What must not leak</h2>",
        f"<p>{escape(compared)}</p>",
        f"<p>{equal:,} records equal an earlier one, {near:,} nearly do.</p>",
        f"<p>A tool is on one side only: {report.train.tools:,} definitions train and "
        f"{report.heldout.tools:,} are held out. From {report.trimmed:,} tasks a candidate tool of "
        "the other side was taken away.</p>",
    ]


def _kept(report: CurationReport) -> list[str]:
    sides = (report.train, report.heldout)
    parts = ["<h2>What was kept</h2>", "<h3>Lengths</h3>", _spreads(sides)]
    for name, head in SLICES.items():
        train, heldout = (getattr(side, name) for side in sides)
        parts += [f"<h3>{name.capitalize()}</h3>", counted(head, train, heldout)]
    return parts


def _spreads(sides: Sequence[Side]) -> str:
    rows: list[list[str]] = []
    for name, said in NUMBERS.items():
        for side, title in zip(sides, ("train", "held out"), strict=True):
            if spread := side.spreads.get(name):
                rows.append([said.capitalize(), title, *_numbers(spread)])
    return table(("", "Side", "Least#", "Median#", "90th percentile#", "Most#"), rows)


def _numbers(spread: Spread) -> list[str]:
    return [f"{n:,}" for n in (spread.least, spread.median, spread.p90, spread.most)]


def _personal(report: CurationReport) -> list[str]:
    sides = (report.train.pii, report.heldout.pii)
    parts = ["<h2>Personal data</h2>"]
    if not any(sides):
        return [*parts, "<p>The scan found none in the tasks that were kept.</p>"]
    said = "Tasks that were kept and hold text of such a form; it is counted and nothing is cut."
    return [*parts, f"<p>{said}</p>", counted("Kind", *sides)]
