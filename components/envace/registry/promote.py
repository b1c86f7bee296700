"""Promotion: the alias `champion` moves only on a PASS, and every decision leaves a line.

One idea: MLflow's alias has no compare-and-set, so the promoter brings its own: a lease that one
holder has, a check that the champion is still the one that the candidate was compared with, the
alias read back, and an append-only log that says why the live model is live.
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
class Promotion:
    """What became of a decision; also a line of the log."""

    at: str
    """When it was taken, ISO 8601."""
    version: int
    digest: str
    previous: int | None
    """The champion before."""
    verdict: Verdict
    promoted: bool
    """Does `champion` name this version now?"""
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Ledger:
    """Where decisions are logged, and when this one is taken."""

    log: Path
    """JSON Lines; only ever appended to. The lease lies beside it."""
    at: datetime
    """With its time zone; leases are judged by it."""


def promote(
    registry: Aliases, version: Version, decision: Decision, ledger: Ledger, expected: int | None
) -> Promotion:
    """Acts on a decision: on PASS `champion` becomes `version`; each decision is logged.

    `expected` is the champion that the candidate was compared with (None: there was none).
    Promoting the champion again changes nothing. Raises `RegistryError` when somebody else holds
    the lease, or the champion is another one by now.
    """
    with _lease(ledger):
        champion = registry.alias(CHAMPION)
        previous = champion.number if champion else None
        passed = decision.verdict is Verdict.PASS
        if passed and previous != version.number:
            if previous != expected:
                raise RegistryError(
                    f"{CHAMPION} is {_named(previous)}, but version {version.number} was compared "
                    f"with {_named(expected)}; evaluate it against the champion, then promote."
                )
            registry.set_alias(CHAMPION, version.number)
        promotion = Promotion(
            at=ledger.at.isoformat(),
            version=version.number,
            digest=version.digest,
            previous=previous,
            verdict=decision.verdict,
            promoted=passed or previous == version.number,
            findings=decision.findings,
        )
        _append(ledger.log, promotion)
        return promotion


def decision_json(decision: Decision) -> str:
    """The decision for machines."""
    fields: dict[str, Any] = asdict(decision) | {"rules": decision.rules.model_dump(mode="json")}
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


def _named(number: int | None) -> str:
    return "nothing" if number is None else f"version {number}"


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
