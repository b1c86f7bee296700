"""Curation turns what sources yield into a train set and a held-out set, and accounts for the rest.

Every record ends in exactly one place: train, held out, or rejected with a reason. Two steps:
parts are examined side by side (`examine`), then put together in order (`reduce`). What was
examined stays in the work folder, so that a run that was killed goes on where it was, and one with
more data examines only that; the bytes that come out are the same.
"""

import fcntl
import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import envace
from envace.artifacts import Cache
from envace.errors import TaskError
from envace.files import clear_scratch, replace_folder, scratch_beside, sha256_of
from envace.strict_json import canonical
from envace.tasks.checks.rules import by_name
from envace.tasks.curation.config import Config
from envace.tasks.curation.examine import Checks, Job, examine
from envace.tasks.curation.reduce import decide, write
from envace.tasks.curation.report import CurationReport
from envace.tasks.curation.split import Split
from envace.tasks.overlap import decontaminate, manifest
from envace.tasks.overlap.near import Near
from envace.tasks.source import Source
from envace.tasks.task import Task

SAY_EVERY_S = 2.0


class Engine(Protocol):
    """Where parts are examined: what `build(config)` of an engine plug-in returns."""

    def run(self, work: Callable[[Job], Path], jobs: Sequence[Job]) -> Iterator[Path]:
        """Does `work` for each job and yields what it returns, in the order of the jobs.

        Raises what `work` raises, and `TaskError` when a worker is lost.
        """
        ...


@dataclass(frozen=True)
class Origin:
    """A source with what tells it from another of its kind."""

    name: str
    """Of the plug-in."""
    key: str
    """Its configuration, as text."""
    source: Source


@dataclass(frozen=True)
class Desk:
    """What curation works with and where."""

    cache: Cache
    count: Callable[[Task], int]
    """Tokens of a task; picklable."""
    counter: str
    """Changes when `count` counts otherwise."""
    work: Path
    """Folder of examined parts; it may be deleted at any time."""
    target: Path
    """Folder that becomes `train`, `heldout` and `rejected`."""
    told: Callable[[str], None] = field(default=lambda _: None)
    """Is told how far it is."""


def curate(origins: Sequence[Origin], config: Config, desk: Desk) -> CurationReport:
    """Curates all records of the sources and replaces `desk.target` by the outcome.

    Raises `TaskError` if no task can train; then, as whenever it is stopped, the target is as it
    was.
    """
    rules = by_name(config.skip)
    split = Split(frozenset(config.held_out), config.held_out_share, config.salt)
    compared = _manifest(config, desk)
    checks = Checks(
        rules,
        config.languages,
        compared,
        split,
        desk.count,
        config.max_tokens,
        near=config.near > 0,
    )
    with _alone(desk.work):
        clear_scratch(desk.target)
        files = _examined(_jobs(origins, config, checks, desk), config, desk)
        desk.told("putting the parts together")
        decided = decide(files, Near(config.near) if config.near else None)
        benchmarks = decontaminate.load(compared).benchmarks if compared else {}
        with scratch_beside(desk.target) as temp:
            report = write(files, decided, temp / "new", config.shard_tasks).report(benchmarks)
            if not report.train.tasks:
                raise TaskError(_nothing_left(report))
            replace_folder(temp / "new", desk.target)
        for old in {*desk.work.glob("*.parquet")} - {*files}:
            old.unlink()
    return report


def _manifest(config: Config, desk: Desk) -> Path | None:
    if not config.decontaminate.benchmarks:
        return None
    desk.told(f"items of {', '.join(config.decontaminate.benchmarks)} to compare with")
    return manifest.build(config.decontaminate, desk.cache)


def _jobs(origins: Sequence[Origin], config: Config, checks: Checks, desk: Desk) -> list[Job]:
    """One a part, in order; the name of its file holds all that its rows depend on."""
    chosen = config.model_dump(mode="json", exclude={"engine", "near", "shard_tasks"})
    chosen["near"] = checks.near
    compared = sha256_of(checks.manifest) if checks.manifest else ""
    common = [_code(), chosen, compared, desk.counter]
    jobs: list[Job] = []
    for origin in origins:
        desk.told(f"source {origin.name}")
        for part in origin.source.parts():
            known = [*common, origin.name, origin.key, part.model_dump(mode="json")]
            name = hashlib.sha256(canonical(known).encode()).hexdigest()[:32]
            jobs.append(Job(origin.source, part, checks, desk.work / f"{name}.parquet"))
    return jobs


def _code() -> str:
    """A hash of the code that makes rows of records."""
    root = Path(envace.__path__[0])
    files = [*root.glob("tasks/**/*.py"), *root.glob("worlds/*.py"), *root.glob("*.py")]
    hashes = "".join(sha256_of(path) for path in sorted(files))
    return hashlib.sha256(hashes.encode()).hexdigest()


def _examined(jobs: Sequence[Job], config: Config, desk: Desk) -> list[Path]:
    """The jobs' files, in order, after those that are missing were made."""
    missing = [job for job in jobs if not job.target.exists()]
    if len(missing) < len(jobs):
        desk.told(f"{len(jobs) - len(missing)} of {len(jobs)} parts were examined before")
    engine: Engine = config.engine.build()
    said = time.monotonic()
    for done, _ in enumerate(engine.run(examine, missing), 1):
        if time.monotonic() - said > SAY_EVERY_S or done == len(missing):
            desk.told(f"{done} of {len(missing)} parts examined")
            said = time.monotonic()
    return [job.target for job in jobs]


@contextmanager
def _alone(work: Path) -> Generator[None]:
    """Holds the work folder against other curations."""
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TaskError(
                f"another curation is at work in {work}; wait until it is done, or stop it."
            ) from None
        for left in work.glob(".*.parquet.*"):
            left.unlink(missing_ok=True)
        yield


def _nothing_left(report: CurationReport) -> str:
    if not report.records:
        return "The sources yielded no record at all; add one under curate.sources."
    why = ", ".join(f"{reason.code} {reason.count}" for reason in report.reasons) or "none rejected"
    return (
        f"No task is left to train on: of {report.records} records {report.heldout.tasks} are "
        f"held out and {report.rejected} rejected ({why}); relax the limits or fix the source."
    )
