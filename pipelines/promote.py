"""Stage promote: the gate decides on the reports; on PASS the challenger becomes the champion.

The reference is what the reports compare with: the champion, or before there is one the warm start
that the candidate was trained from.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from envace.benchmarks.report import Report
from envace.errors import BenchmarkError, RegistryError
from envace.files import write_atomically
from envace.registry.gate import Outcome, decide
from envace.registry.models import CHAMPION, Registry, Version
from envace.registry.promote import Ledger, Reference, decision_json, decision_page, promote
from envace.registry.store import verify
from pipelines import params, paths, stage
from pipelines.records import Registered
from pipelines.settings import Settings


def main() -> str:
    """Reads the reports, decides, acts, and writes the decision down."""
    chosen = params.load()
    record = stage.read(paths.VERSION, Registered, "register")
    reports = stage.read(paths.EVALUATION, tuple[Report, ...], "evaluate")
    registry = Registry(Settings.load().tracking_uri, record.name)
    version = registry.version(record.version)
    candidate, reference = compared(reports, record, version, chosen.promote)
    decision = decide(outcomes(candidate), outcomes(reference), chosen.promote.rules)
    against = Reference(reference.policy, reference.digest)
    ledger = Ledger(paths.LEDGER, datetime.now(UTC))
    promotion = promote(registry, version, decision, against, ledger)
    write_atomically(paths.DECISION, decision_json(decision, promotion))
    page = decision_page(decision, f"version {version.number}", against.name)
    write_atomically(paths.DECISION_PAGE, page)
    state = f"is {CHAMPION}" if promotion.promoted else f"is not {CHAMPION}"
    return f"{decision.verdict}: version {version.number} {state} → {paths.DECISION_PAGE}"


def compared(
    reports: Sequence[Report], record: Registered, version: Version, chosen: params.Promote
) -> tuple[Report, Report]:
    """The candidate's report, of the very bytes of `version`, and that of its reference."""
    if version.digest != record.digest:
        raise RegistryError(
            f"version {version.number} is {version.digest[:12]} in the registry, but register "
            f"recorded {record.digest[:12]}; run 'dvc repro -f -s register', then 'dvc repro'."
        )
    verify(version.path)
    candidate = _report(reports, "grpo", chosen)
    if candidate.digest != version.digest:
        raise BenchmarkError(
            f"{paths.EVALUATION} is of policy {candidate.digest[:12]}, but version "
            f"{version.number} is {version.digest[:12]}; run 'dvc repro -f -s evaluate', then "
            "'dvc repro'."
        )
    entered = {report.policy for report in reports}
    return candidate, _report(reports, CHAMPION if CHAMPION in entered else "warmstart", chosen)


def outcomes(report: Report) -> list[Outcome]:
    """How the policy did on each item."""
    return [
        Outcome(t.item, t.slice, None if t.status == "infra" else t.status == "pass")
        for t in report.trials
    ]


def _report(reports: Sequence[Report], policy: str, chosen: params.Promote) -> Report:
    wanted = (chosen.suite, policy, chosen.mode)
    for report in reports:
        if (report.suite, report.policy, report.mode) == wanted:
            return report
    raise BenchmarkError(
        f"there is no report of {policy} on suite {chosen.suite} in mode {chosen.mode}; "
        "correct promote.suite or promote.mode, or run 'dvc repro -f -s evaluate', then "
        "'dvc repro'."
    )
