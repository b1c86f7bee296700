"""Curation turns what sources yield into a train set and a held-out set, and accounts for the rest.

Every record ends in exactly one place: train, held out, or rejected with a reason. The order is
validate, exact duplicates, split, token budget of the train side. Pure: no file is read or written.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from envace.config import Config as BaseConfig
from envace.episode import Record
from envace.errors import TaskError
from envace.tasks.checks.rules import problem, within_tokens
from envace.tasks.curation.split import split_of
from envace.tasks.overlap import exact as dedupe
from envace.tasks.source import Rejected
from envace.tasks.task import Task

SAMPLES = 3
"""How many records a reason names as examples."""

Share = Annotated[float, Field(ge=0, lt=1)]


class Config(BaseConfig):
    """What is kept, and how much of it is held out."""

    max_tokens: int = Field(default=20_000, gt=0)
    """Longest task that trains, in tokens of the policy; held-out ones may be longer."""
    held_out_share: Share | Mapping[str, Share] = 0.1
    """Share of the tasks that is never trained on; or one a source (0 for a source not named)."""
    salt: str = "envace"
    """Changes which tasks are held out, not how many."""


class Reason(Record):
    """How often a reason dropped a record."""

    code: str
    count: int
    samples: tuple[str, ...]
    """The first records that it dropped, as `source record: reason`."""


class Side(Record):
    """What one side of the split holds."""

    tasks: int
    sources: Mapping[str, int]
    domains: Mapping[str, int]
    tiers: Mapping[str, int]


class CurationReport(Record):
    """Where every record went."""

    records: int
    train: Side
    heldout: Side
    rejected: int
    reasons: tuple[Reason, ...]
    """Most frequent first."""


@dataclass(frozen=True)
class Curated:
    """The outcome of a curation."""

    train: tuple[Task, ...]
    heldout: tuple[Task, ...]
    rejected: tuple[Rejected, ...]
    report: CurationReport


def curate(
    records: Iterable[Task | Rejected], config: Config, count: Callable[[Task], int]
) -> Curated:
    """Curates `records`; `count` gives a task's tokens. Raises `TaskError` if none can train."""
    tasks, rejected = _drop(records, problem)
    tasks, duplicates = dedupe.exact(tasks)
    sides = [split_of(task.id, _share(config, task.source), config.salt) for task in tasks]
    train = tuple(t for t, side in zip(tasks, sides, strict=True) if side == "train")
    heldout = tuple(t for t, side in zip(tasks, sides, strict=True) if side == "heldout")
    train, long = _drop(train, lambda task: within_tokens(task, count, config.max_tokens))
    rejected = (*rejected, *duplicates, *long)
    report = CurationReport(
        records=len(train) + len(heldout) + len(rejected),
        train=_side(train),
        heldout=_side(heldout),
        rejected=len(rejected),
        reasons=_reasons(rejected),
    )
    if not train:
        raise TaskError(_nothing_left(report))
    return Curated(train, heldout, rejected, report)


def _drop(
    records: Iterable[Task | Rejected], reason: Callable[[Task], str | None]
) -> tuple[tuple[Task, ...], tuple[Rejected, ...]]:
    kept: list[Task] = []
    rejected: list[Rejected] = []
    for record in records:
        if isinstance(record, Rejected):
            rejected.append(record)
        elif found := reason(record):
            rejected.append(Rejected(record.source, record.id, found))
        else:
            kept.append(record)
    return tuple(kept), tuple(rejected)


def _share(config: Config, source: str) -> float:
    share = config.held_out_share
    return share.get(source, 0.0) if isinstance(share, Mapping) else share


def _side(tasks: tuple[Task, ...]) -> Side:
    def counts(values: Iterable[str]) -> dict[str, int]:
        return dict(sorted(Counter(values).items()))

    return Side(
        tasks=len(tasks),
        sources=counts(task.source for task in tasks),
        domains=counts(task.domain for task in tasks),
        tiers=counts(task.tier for task in tasks),
    )


def _reasons(rejected: tuple[Rejected, ...]) -> tuple[Reason, ...]:
    found: dict[str, list[str]] = {}
    for record in rejected:
        sample = f"{record.source} {record.record}: {record.reason}"
        found.setdefault(record.reason.partition(":")[0], []).append(sample)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        Reason(code=code, count=len(samples), samples=tuple(samples[:SAMPLES]))
        for code, samples in ordered
    )


def _nothing_left(report: CurationReport) -> str:
    if not report.records:
        return "The sources yielded no record at all; add one under curate.sources."
    why = ", ".join(f"{reason.code} {reason.count}" for reason in report.reasons) or "none rejected"
    return (
        f"No task is left to train on: of {report.records} records {report.heldout.tasks} are "
        f"held out and {report.rejected} rejected ({why}); relax the limits or fix the source."
    )
