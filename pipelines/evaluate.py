"""Stage evaluate: every policy of the run, and the champion, on the benchmarks."""

import json

from envace.artifacts import digest_of, write_atomically
from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.page import write_page
from envace.benchmarks.report import Report
from envace.inference.chat import load_renderer
from envace.registry.models import CHAMPION, Registry
from envace.tasks.store import read_tasks
from pipelines import params, paths, policies, stage
from pipelines.settings import Settings


def main() -> str:
    """Runs every suite on every policy; writes the reports, the page and the scores."""
    chosen, settings = params.load(), Settings.load()
    train, heldout = read_tasks(paths.TRAIN), read_tasks(paths.HELDOUT)
    folders = {
        "base": policies.base(chosen, settings, train),
        "warmstart": paths.WARMSTART,
        "grpo": paths.GRPO,
    }
    champion = Registry(settings.tracking_uri, chosen.register_.name).alias(CHAMPION)
    if champion and champion.digest != digest_of(paths.GRPO):
        folders[CHAMPION] = champion.path
    recordings = Recordings(train, heldout)
    suites = [plugin.build(recordings, chosen.seed) for plugin in chosen.evaluate.suites]
    reports: list[Report] = []
    total = sum(suite.size(name == "grpo") for suite in suites for name in folders)
    with stage.Bar("evaluate", total) as bar:
        for name, folder in folders.items():
            policy = policies.policy(chosen, folder)
            candidate = Candidate(policy, load_renderer(folder), name, digest_of(folder))
            for suite in suites:
                reports += suite.run(candidate, name == "grpo", lambda: bar.step())
    write_atomically(
        paths.EVALUATION, json.dumps([report.model_dump(mode="json") for report in reports])
    )
    write_page(reports, paths.EVALUATION_PAGE)
    write_atomically(paths.SCORES, json.dumps(scores(reports), indent=1))
    return f"{total} trials of {len(folders)} policies → {paths.EVALUATION_PAGE}"


def scores(reports: list[Report]) -> dict[str, dict[str, dict[str, float]]]:
    """Suite → policy and mode → success, mean score and what was scored."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for report in reports:
        found.setdefault(report.suite, {})[f"{report.policy} {report.mode}"] = {
            "success": round(report.success, 4),
            "score": round(sum(t.score for t in report.scored) / max(len(report.scored), 1), 4),
            "scored": len(report.scored),
            "expected": report.n_expected,
        }
    return found
