"""Stage promote: the gate decides on the reports; on PASS the challenger becomes the champion."""

import json
from datetime import UTC, datetime

from envace.artifacts import write_atomically
from envace.benchmarks.report import Report
from envace.errors import BenchmarkError
from envace.registry.gate import Outcome, decide
from envace.registry.models import CHAMPION, Registry
from envace.registry.promote import Ledger, decision_json, decision_page, promote
from envace.registry.store import verify
from pipelines import params, paths
from pipelines.settings import Settings


def main() -> str:
    """Reads the reports, decides, acts, and writes the decision down."""
    chosen, record = params.load(), json.loads(paths.VERSION.read_text())
    registry = Registry(Settings.load().tracking_uri, chosen.register_.name)
    version = registry.version(record["version"])
    verify(version.path)
    reports = [Report.model_validate(each) for each in json.loads(paths.EVALUATION.read_text())]
    champion = registry.alias(CHAMPION)
    against = CHAMPION if champion and champion.number != version.number else "base"
    candidate = outcomes(reports, "grpo", chosen.promote)
    reference = outcomes(reports, against, chosen.promote)
    decision = decide(candidate, reference, chosen.promote.rules)
    ledger = Ledger(paths.LEDGER, datetime.now(UTC))
    promotion = promote(registry, version, decision, ledger, champion and champion.number)
    write_atomically(paths.DECISION, decision_json(decision))
    write_atomically(
        paths.DECISION_PAGE, decision_page(decision, f"version {version.number}", against)
    )
    state = f"is {CHAMPION}" if promotion.promoted else f"is not {CHAMPION}"
    return f"{decision.verdict}: version {version.number} {state} → {paths.DECISION_PAGE}"


def outcomes(reports: list[Report], policy: str, chosen: params.Promote) -> list[Outcome]:
    """The outcomes that decide, of one policy."""
    wanted = (chosen.suite, policy, chosen.mode)
    for report in reports:
        if (report.suite, report.policy, report.mode) == wanted:
            return [
                Outcome(t.item, t.slice, None if t.status == "infra" else t.status == "pass")
                for t in report.trials
            ]
    raise BenchmarkError(
        f"there is no report of {policy} on suite {chosen.suite} in mode {chosen.mode}; "
        "check promote.suite and promote.mode, then run evaluate again."
    )
