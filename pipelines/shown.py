"""Tasks and the outcome of a curation on a terminal.

What data sets and models wrote is untrusted: it is never read as markup, and characters that steer
a terminal are taken out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from envace.episode import Message
from envace.inference.chat import signature
from envace.tasks.curation.report import CurationReport
from envace.tasks.reports.explain import explain
from envace.tasks.reports.stats import NUMBERS, SIDES, Stats, middle
from envace.tasks.task import ChecklistItem, Task

REASONS = 5
"""Reasons that the outcome names; the page has all."""
STYLES = {"user": "bold", "assistant": "cyan", "tool": "dim"}
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|.?)", re.DOTALL
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def plain(text: str) -> str:
    """`text` without escape sequences and control characters, lines and tabs kept."""
    bare = _CONTROLS.sub("", _ESCAPES.sub("", text))
    return bare.encode(errors="replace").decode()


def outcome(report: CurationReport) -> Group:
    """Where the records of each source went, and the most frequent reasons."""
    table = _table("source", "read", "train", "held out", "rejected")
    for name, counts in report.sources.items():
        fates = (counts.records, counts.train, counts.heldout, counts.rejected)
        table.add_row(Text(plain(name)), *(f"{number:,}" for number in fates))
    reasons = Table(box=None, pad_edge=False, show_header=False)
    for reason in report.reasons[:REASONS]:
        reasons.add_row(
            Text(f"{reason.count:,}", justify="right"),
            Text(plain(reason.code)),
            Text(explain(reason.code), style="dim"),
        )
    return Group(table, *(["", reasons] if report.reasons else []))


def task(found: Task, facts: Mapping[str, object]) -> Group:
    """A task as a conversation that can be read; `facts` stand above it."""
    head = Table.grid(padding=(0, 2))
    for name, value in {"id": found.id, **facts}.items():
        head.add_row(Text(name, style="dim"), Text(plain(str(value))))
    tools = [Text(plain(signature(tool))) for tool in found.tools]
    return Group(
        head,
        *_block("system", [Text(plain(found.system))]),
        *_block(f"tools ({len(tools)})", tools),
        *_turns(found),
    )


def slices(found: Stats) -> Table:
    """Tasks a slice and side, with the median and 90th percentile of each number."""
    table = _table(found.by, *SIDES.values(), *NUMBERS.values())
    for one in found.shown:
        numbers = (middle(one, number) for number in NUMBERS)
        counts = (f"{count:,}" for count in one.counts.values())
        table.add_row(Text(plain(one.name) or "–"), *counts, *numbers)
    return table


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _block(title: str, lines: Sequence[RenderableType]) -> Iterator[RenderableType]:
    yield Text(f"\n{title}", style="bold magenta")
    yield from (Padding(line, (0, 0, 0, 2)) for line in lines)


def _turns(found: Task) -> Iterator[RenderableType]:
    """Each user message with what followed it, then what that turn is scored by."""
    starts = [n for n, message in enumerate(found.conversation) if message.role == "user"]
    for turn, (start, stop) in enumerate(zip(starts, [*starts[1:], None], strict=True)):
        said = [line for m in found.conversation[start:stop] for line in _message(m)]
        yield from _block(f"turn {turn + 1}", said)
        if turn < len(found.checklists):
            yield Padding(_checklist(found.checklists[turn]), (1, 0, 0, 2))


def _message(message: Message) -> Iterator[RenderableType]:
    if message.content or not message.calls:
        who = f"{message.name} answers" if message.role == "tool" else message.role
        yield _said(who, message.content, STYLES[message.role])
    for call in message.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        yield _said("calls", f"{call.name} {arguments}", "green")


def _said(who: str, text: str, style: str) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_column(width=18, overflow="fold")
    row.add_column(overflow="fold")
    row.add_row(Text(plain(who), style="dim"), Text(plain(text), style=style))
    return row


def _checklist(items: Sequence[ChecklistItem]) -> Table:
    table = Table("weight", "item", "passes when", box=None, pad_edge=False)
    for item in items:
        needed = " (needed for the next turn)" if item.required_for_next_turn else ""
        table.add_row(
            f"{item.weight:.2f}",
            Text(plain(item.question) + needed),
            Text(plain("\n".join((item.pass_condition, *item.evidence))), style="dim"),
        )
    return table
