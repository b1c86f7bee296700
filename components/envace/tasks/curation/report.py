"""Where every record went: counted while tasks stream by, so that memory does not grow with them.

Nothing in the report depends on time, on the machine or on the order in which parts were read, so
the same data always give the same bytes.
"""

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from envace.episode import Record

SAMPLES = 3
"""How many records a reason names as examples."""


class Reason(Record):
    """How often a reason dropped a record."""

    code: str
    count: int
    sources: Mapping[str, int]
    """Of them, by source."""
    samples: tuple[str, ...]
    """The first records that it dropped, as `source record: reason`."""


class Spread(Record):
    """How a number is distributed over tasks."""

    least: int
    median: int
    p90: int
    most: int


class Side(Record):
    """What one side of the split holds; a mapping counts tasks."""

    tasks: int
    sources: Mapping[str, int]
    domains: Mapping[str, int]
    tiers: Mapping[str, int]
    families: Mapping[str, int]
    """Families of tools; tasks whose tools are families of their own are under ''."""
    languages: Mapping[str, int]
    """ISO 639-1; `und` where there is too little text to tell."""
    tools: int
    """Different tool definitions."""
    spreads: Mapping[str, Spread]
    """Of `turns`, `calls`, `tools` and, on the train side, `tokens`; empty without tasks."""
    pii: Mapping[str, int]
    """Tasks that hold personal data, by kind."""


class SourceCount(Record):
    """Where the records of one source went."""

    records: int
    train: int
    heldout: int
    rejected: int


class CurationReport(Record):
    """Where every record went."""

    records: int
    train: Side
    heldout: Side
    rejected: int
    reasons: tuple[Reason, ...]
    """Most frequent first."""
    sources: Mapping[str, SourceCount]
    trimmed: int
    """Tasks of which a candidate tool was taken away, since it belongs to the other side."""
    benchmarks: Mapping[str, int]
    """Benchmarks that tasks were compared with, and how many items each has."""


@dataclass
class Tally:
    """Reasons, counted one record at a time."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    samples: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, source: str, record: str, reason: str) -> None:
        """Counts a rejection."""
        code = reason.partition(":")[0]
        self.counts[code, source] += 1
        samples = self.samples.setdefault(code, [])
        if len(samples) < SAMPLES:
            samples.append(f"{source} {record}: {reason}")

    def reasons(self) -> tuple[Reason, ...]:
        """What was counted, the most frequent reason first."""
        found = [self._reason(code, samples) for code, samples in self.samples.items()]
        return tuple(sorted(found, key=lambda reason: (-reason.count, reason.code)))

    def _reason(self, code: str, samples: list[str]) -> Reason:
        by = {s: n for (one, s), n in sorted(self.counts.items()) if one == code}
        return Reason(code=code, count=sum(by.values()), sources=by, samples=tuple(samples))


@dataclass(frozen=True)
class Facts:
    """What is known of a kept task without reading it."""

    source: str
    domain: str
    tier: str
    family: str
    language: str
    tools: tuple[bytes, ...]
    """Fingerprints of its tool definitions."""
    numbers: Mapping[str, int]
    """Its `turns`, `calls`, `tools` and perhaps `tokens`."""
    pii: Mapping[str, int]


SLICES = ("source", "domain", "tier", "family", "language")


@dataclass
class SideTally:
    """One side, counted one task at a time: four bytes a task and number."""

    tasks: int = 0
    slices: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter[str]() for name in SLICES}
    )
    tools: set[bytes] = field(default_factory=set[bytes])
    numbers: dict[str, "array[int]"] = field(default_factory=dict[str, "array[int]"])
    pii: Counter[str] = field(default_factory=Counter[str])

    def add(self, task: Facts) -> None:
        """Counts a task."""
        self.tasks += 1
        for name, counter in self.slices.items():
            counter[getattr(task, name)] += 1
        self.tools.update(task.tools)
        for name, value in task.numbers.items():
            self.numbers.setdefault(name, array("I")).append(value)
        self.pii.update(kind for kind, count in task.pii.items() if count)

    def side(self) -> Side:
        """What was counted."""
        counts = {name: dict(sorted(counter.items())) for name, counter in self.slices.items()}
        return Side(
            tasks=self.tasks,
            sources=counts["source"],
            domains=counts["domain"],
            tiers=counts["tier"],
            families=counts["family"],
            languages=counts["language"],
            tools=len(self.tools),
            spreads={name: spread(values) for name, values in sorted(self.numbers.items())},
            pii=dict(sorted(self.pii.items())),
        )


def spread(values: "array[int]") -> Spread:
    """Least, median, 90th percentile (nearest rank) and most of at least one number."""
    ordered = sorted(values)
    last = len(ordered) - 1

    def rank(percent: int) -> int:
        return ordered[max(-(-percent * len(ordered) // 100) - 1, 0)]

    return Spread(least=ordered[0], median=rank(50), p90=rank(90), most=ordered[last])
