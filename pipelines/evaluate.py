"""Stage evaluate: every policy of the run, and the champion, on the benchmarks.

The promotion gate compares the trained policy with the champion; while there is none, with the
warm start that it was trained from.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.page import write_page
from envace.benchmarks.report import Report
from envace.files import digest_of, write_atomically
from envace.inference.chat import load_renderer
from envace.registry.models import CHAMPION, Registry, Version
from envace.registry.store import verify
from envace.tasks.store import read_tasks
from pipelines import params, paths, policies, stage
from pipelines.records import Score, Scores
from pipelines.settings import Settings


def main() -> str:
    """Runs every suite on every policy; writes the reports, the page and the scores."""
    chosen, settings = params.load(), Settings.load()
    recordings = Recordings(train=read_tasks(paths.TRAIN), heldout=read_tasks(paths.HELDOUT))
    suites = [plugin.build(recordings, chosen.seed) for plugin in chosen.evaluate.suites]
    own = {
        "base": policies.base(chosen, settings, recordings.train),
        "warmstart": paths.WARMSTART,
        "grpo": paths.GRPO,
    }
    champion = Registry(settings.tracking_uri, chosen.register_.name).alias(CHAMPION)
    entered = entries(own, champion)
    reports: list[Report] = []
    total = sum(suite.size(name == "grpo") for suite in suites for name in entered)
    with stage.Bar("evaluate", total) as bar:
        for name, (folder, digest) in entered.items():
            policy = policies.policy(chosen, folder)
            candidate = Candidate(policy, load_renderer(folder), name, digest)
            for suite in suites:
                reports += suite.run(candidate, name == "grpo", lambda: bar.step())
    write_atomically(
        paths.EVALUATION, json.dumps([report.model_dump(mode="json") for report in reports])
    )
    write_page(reports, paths.EVALUATION_PAGE)
    shown = {s: {n: r.model_dump() for n, r in rows.items()} for s, rows in scores(reports).items()}
    write_atomically(paths.SCORES, json.dumps(shown, indent=1))
    return f"{total} trials of {len(entered)} policies → {paths.EVALUATION_PAGE}"


def entries(own: Mapping[str, Path], champion: Version | None) -> dict[str, tuple[Path, str]]:
    """Each policy's folder and digest: those of the run, and the champion if it is another one.

    Raises `RegistryError` when the champion's bytes are not those that were registered.
    """
    found = {name: (folder, digest_of(folder)) for name, folder in own.items()}
    if champion and champion.digest != found["grpo"][1]:
        verify(champion.path)
        found[CHAMPION] = (champion.path, champion.digest)
    return found


def scores(reports: list[Report]) -> Scores:
    """Suite → policy and mode → success, mean score and what was scored."""
    found: Scores = {}
    for report in reports:
        found.setdefault(report.suite, {})[f"{report.policy} {report.mode}"] = Score(
            success=round(report.success, 4),
            score=round(sum(t.score for t in report.scored) / max(len(report.scored), 1), 4),
            scored=len(report.scored),
            expected=report.n_expected,
        )
    return found
