"""The second step of curation: examined records → train, held out and rejected.

One idea: it reads the small columns of all records in order and decides by these which are kept;
then it reads the records once more and writes each where it belongs. What it keeps in memory is a
few hundred bytes a record, whatever a record's size.

The first of equal tasks is kept. A tool of a held-out task validates: train tasks that call it are
rejected, and where it is a mere candidate it is taken away.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from envace.episode import Tool
from envace.tasks.curation.report import CurationReport, Facts, SideTally, SourceCount, Tally
from envace.tasks.curation.split import definition, name_key
from envace.tasks.overlap.near import Near
from envace.tasks.rows import KEPT, LIGHT, REJECTED, Row, Shards, columns_of, read_rows, task_of

_COUNTS = TypeAdapter(dict[str, int])
SIDES = {"train": KEPT, "heldout": KEPT, "rejected": REJECTED}
"""Where a record can end, and the columns of what is written there."""


@dataclass(frozen=True)
class Decided:
    """What the small columns say of all records."""

    dropped: Mapping[int, str]
    """Why a record that might be kept is not, by its place."""
    validating: frozenset[bytes]
    """Definitions, and where each is a family names, of the tools of held-out tasks."""


@dataclass
class Seen:
    """What was kept so far: about 200 bytes a task, and what `near` takes."""

    near: Near | None
    contents: dict[bytes, str] = field(default_factory=dict[bytes, str])
    ids: set[str] = field(default_factory=set[str])

    def repeats(self, row: Row) -> str | None:
        """Which earlier task it is, as `code: detail`; None: it is kept from now on."""
        name, content = row["id"], row["content"]
        if first := self.contents.get(content):
            return f"duplicate_of: {first}"
        if name in self.ids:
            return f"duplicate_id: '{name}' names a task with other content"
        if self.near and (first := self.near.seen(name, row["sketch"])):
            return f"near_duplicate_of: {first}"
        self.contents[content] = name
        self.ids.add(name)
        return None


@dataclass
class Counts:
    """Where the records went."""

    rejected: Tally = field(default_factory=Tally)
    kept: Mapping[str, SideTally] = field(
        default_factory=lambda: {"train": SideTally(), "heldout": SideTally()}
    )
    fates: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Records by source and side."""
    trimmed: int = 0

    def report(self, benchmarks: Mapping[str, int]) -> CurationReport:
        """What was counted; `benchmarks` says what tasks were compared with."""
        reasons = self.rejected.reasons()
        return CurationReport(
            records=self.fates.total(),
            train=self.kept["train"].side(),
            heldout=self.kept["heldout"].side(),
            rejected=sum(reason.count for reason in reasons),
            reasons=reasons,
            sources={source: self._source(source) for source in sorted({s for s, _ in self.fates})},
            trimmed=self.trimmed,
            benchmarks=benchmarks,
        )

    def _source(self, source: str) -> SourceCount:
        counts = {side: self.fates[source, side] for side in SIDES}
        return SourceCount(records=sum(counts.values()), **counts)


def decide(files: Iterable[Path], near: Near | None) -> Decided:
    """Which records of the files, in order, repeat another, and which tools validate."""
    seen, dropped, validating = Seen(near), dict[int, str](), set[bytes]()
    for place, row in enumerate(read_rows(files, LIGHT)):
        if row["reason"] is not None:
            continue
        if reason := seen.repeats(row):
            dropped[place] = reason
        elif row["held_out"]:
            validating.update(row["definitions"], row["names"])
    return Decided(dropped, frozenset(validating))


def write(files: Sequence[Path], decided: Decided, folder: Path, size: int) -> Counts:
    """Writes every record of the files into one of the folders of `SIDES`."""
    counts = Counts()
    with ExitStack() as stack:
        out = {
            side: stack.enter_context(Shards(folder / side, schema, size))
            for side, schema in SIDES.items()
        }
        for place, row in enumerate(read_rows(files)):
            side, written = _placed(row, decided.dropped.get(place), decided.validating)
            counts.fates[row["source"], side] += 1
            out[side].add(written)
            if side == "rejected":
                counts.rejected.add(written["source"], written["record"], written["reason"])
            else:
                counts.kept[side].add(_facts(written))
                counts.trimmed += written["trimmed"]
    return counts


def _placed(row: Row, dropped: str | None, validating: frozenset[bytes]) -> tuple[str, Row]:
    """The side of a record and its row there."""
    reason = row["reason"] or dropped
    if not reason and row["held_out"]:
        return "heldout", row
    kept = reason or _without_validating(row, validating)
    if not isinstance(kept, str):
        return "train", kept
    return "rejected", {"source": row["source"], "record": row["id"], "reason": kept}


def _without_validating(row: Row, validating: frozenset[bytes]) -> Row | str:
    """The row of a train task without tools that validate, or why it cannot do without them."""
    if validating.isdisjoint(row["definitions"]) and validating.isdisjoint(row["names"]):
        return row
    task = task_of(row)
    kept = tuple(tool for tool in task.tools if validating.isdisjoint(_keys(tool, task.family)))
    names = {tool.name for tool in kept}
    lost = sorted({call.name for call, _ in task.recorded_calls} - names)
    if lost or not kept:
        name = lost[0] if lost else task.tools[0].name
        return f"held_out_tool: '{name}' is a tool of a held-out task"
    return {
        **row,
        **columns_of(task.model_copy(update={"tools": kept})),
        "definitions": [definition(tool) for tool in kept],
        "n_tools": len(kept),
        "trimmed": True,
    }


def _keys(tool: Tool, family: str) -> tuple[bytes, ...]:
    return (definition(tool),) if family else (definition(tool), name_key(tool))


def _facts(row: Row) -> Facts:
    numbers = {name: row[f"n_{name}"] for name in ("turns", "calls", "tools", "tokens")}
    return Facts(
        source=row["source"],
        domain=row["domain"],
        tier=row["tier"],
        family=row["family"],
        language=row["language"],
        tools=tuple(row["definitions"]),
        numbers={name: value for name, value in numbers.items() if value is not None},
        pii=_COUNTS.validate_json(row["pii"]),
    )
