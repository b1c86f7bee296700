"""Promotion: the alias `champion` moves only on a PASS, and every decision leaves a line.

One idea: MLflow's alias has no compare-and-set, so the promoter brings its own: a lease that one
holder has, a check that the champion is, byte for byte, still the one that the candidate was
compared with, the alias read back, and an append-only log that says why the live model is live. Its
line is written before the alias moves: a kill may leave a line without its move, never a move
without its line.

Before there is a champion, the candidate is compared with the warm start that it was trained from.
"""

import contextlib
import json
import os
import socket
import uuid
from collections.abc import Generator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from envace.errors import RegistryError
from envace.registry.gate import Decision, Finding, Verdict
from envace.registry.models import CHAMPION, Version

_LEASE = timedelta(minutes=10)


class Aliases(Protocol):
    """The part of a `Registry` that promotion needs."""

    def alias(self, alias: str) -> Version | None:
        """The version that the alias names."""
        ...

    def set_alias(self, alias: str, number: int) -> Version:
        """Lets the alias name this version, and reads it back."""
        ...


@dataclass(frozen=True)
class Reference:
    """What the candidate was compared with."""

    name: str
    """`champion`, or the policy that stands in for it while there is none."""
    digest: str
    """Content hash of its weights."""


@dataclass(frozen=True)
class Promotion:
    """What becomes of a decision; also a line of the log."""

    at: str
    """When it was taken, ISO 8601."""
    version: int
    digest: str
    reference: Reference
    previous: int | None
    """The champion before."""
    verdict: Verdict
    promoted: bool
    """Does `champion` name this version from here on?"""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Ledger:
    """Where decisions are logged, and when this one is taken."""

    log: Path
    """JSON Lines; only ever appended to. The lease lies beside it."""
    at: datetime
    """With its time zone; leases are judged by it."""


def promote(
    registry: Aliases,
    version: Version,
    decision: Decision,
    reference: Reference,
    ledger: Ledger,
) -> Promotion:
    """Acts on a decision: on PASS `champion` becomes `version`; each decision is logged.

    Promoting the champion again changes nothing. Raises `RegistryError` when somebody else holds
    the lease, or the champion is not, or no longer, the reference.
    """
    with _lease(ledger):
        champion = registry.alias(CHAMPION)
        previous = champion.number if champion else None
        passed, there = decision.verdict is Verdict.PASS, previous == version.number
        if not there:
            _check_current(champion, version, reference)
        promotion = Promotion(
            at=ledger.at.isoformat(),
            version=version.number,
            digest=version.digest,
            reference=reference,
            previous=previous,
            verdict=decision.verdict,
            promoted=passed or there,
            findings=decision.findings,
        )
        _append(ledger.log, promotion)
        if passed and not there:
            registry.set_alias(CHAMPION, version.number)
        return promotion


def decision_json(decision: Decision, promotion: Promotion) -> str:
    """The decision and what became of it, for machines."""
    rules = decision.rules.model_dump(mode="json")
    fields: dict[str, Any] = asdict(promotion) | asdict(decision) | {"rules": rules}
    return json.dumps(fields, indent=1, allow_nan=False) + "\n"


def decision_page(decision: Decision, candidate: str, reference: str) -> str:
    """The decision for people, in Markdown; the two names say what was compared."""
    low, high = decision.interval
    findings = [
        f"| {each.name} | {each.verdict} | {each.value:.4g} | {_limit(each)} | {each.sentence} |"
        for each in decision.findings
    ]
    slices = [
        f"| {each.name} | {each.items} | {each.candidate} | {each.reference} |"
        for each in decision.slices
    ]
    return "\n".join(
        [
            f"# {decision.verdict}: {candidate} against {reference}",
            "",
            f"Over {decision.paired.n} items the difference in success is "
            f"{decision.paired.difference:+.3f}, in [{low:+.3f}, {high:+.3f}]. "
            f"These items would show a difference of {decision.detectable:.3f} "
            "with a chance of 80 %.",
            "",
            "| rule | verdict | value | limit | finding |",
            "|---|---|---|---|---|",
            *findings,
            "",
            f"| slice | items | passed by {candidate} | passed by {reference} |",
            "|---|---|---|---|",
            *slices,
            "",
        ]
    )


def _limit(finding: Finding) -> str:
    return "" if finding.limit is None else f"{finding.limit:.4g}"


def _check_current(champion: Version | None, version: Version, reference: Reference) -> None:
    """Refuses a comparison with anything but the champion that there is now, if there is one."""
    expected = reference.digest if reference.name == CHAMPION else None
    if (champion and champion.digest) != expected:
        found = f"version {champion.number} ({champion.digest[:12]})" if champion else "nothing"
        raise RegistryError(
            f"{CHAMPION} is {found}, but version {version.number} was compared with the "
            f"{reference.name} {reference.digest[:12]}; run 'dvc repro -f -s evaluate', then "
            "'dvc repro'."
        )


def _append(log: Path, promotion: Promotion) -> None:
    """One write of one line, forced to disk."""
    line = json.dumps(asdict(promotion), allow_nan=False) + "\n"
    with log.open("ab", buffering=0) as file:
        file.write(line.encode())
        os.fsync(file.fileno())


@contextlib.contextmanager
def _lease(ledger: Ledger) -> Generator[None]:
    """Holds the right to promote, against other processes and machines, until it expires."""
    ledger.log.parent.mkdir(parents=True, exist_ok=True)
    lock = ledger.log.with_name(f"{ledger.log.name}.lock")
    own = ledger.log.with_name(f".{ledger.log.name}.{uuid.uuid4().hex}")
    holder = f"{socket.gethostname()}, process {os.getpid()}"
    own.write_text(json.dumps({"holder": holder, "until": (ledger.at + _LEASE).isoformat()}))
    try:
        _take(lock, own, ledger.at)
        try:
            yield
        finally:
            if lock.exists() and lock.samefile(own):
                lock.unlink()
    finally:
        own.unlink()


def _take(lock: Path, own: Path, now: datetime) -> None:
    """Links `own` to the name `lock`, which only one can do; a lease that expired is removed."""
    while True:
        try:
            lock.hardlink_to(own)
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                _remove_expired(lock, now)
        else:
            return


def _remove_expired(lock: Path, now: datetime) -> None:
    """Removes a lease that expired, and none that took its place meanwhile."""
    text = lock.read_text()
    lease = json.loads(text)
    if datetime.fromisoformat(lease["until"]) > now:
        raise RegistryError(
            f"{lease['holder']} is promoting until {lease['until']}; wait for it, or remove "
            f"{lock} if that process is gone."
        )
    aside = lock.with_name(f".{lock.name}.{uuid.uuid4().hex}")
    lock.rename(aside)
    if aside.read_text() != text:
        lock.hardlink_to(aside)
    aside.unlink()
