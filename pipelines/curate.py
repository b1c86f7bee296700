"""Stage curate: records of the sources → train, held-out and rejected tasks, and their account."""

from pathlib import Path

from envace.files import write_atomically
from envace.tasks.curation.curate import Desk, Origin, curate
from envace.tasks.curation.report import CurationReport
from envace.tasks.reports.page import write_page
from envace.tasks.source import read_all
from envace.tasks.task import Task
from pipelines import params, paths, policies, stage
from pipelines.settings import Settings


def main() -> str:
    """Reads, curates, writes."""
    report = run(params.load(), paths.TASKS, paths.CURATION, paths.WORK)
    counts = f"{report.train.tasks:,} train, {report.heldout.tasks:,} held out"
    return f"{counts}, {report.rejected:,} rejected → {paths.CURATION_PAGE}"


def run(chosen: params.Params, target: Path, account: Path, work: Path) -> CurationReport:
    """Curates into `target`; the report goes to `account`, its page beside it.

    What was examined stays in `work`, and a run that was stopped goes on from there.
    """
    settings = Settings.load()
    cache = settings.sources()
    origins = [
        Origin(plugin.name, stage.fingerprint(params.plain(plugin.config)), plugin.build(cache))
        for plugin in chosen.curate.sources
    ]
    read = (record for origin in origins for record in read_all(origin.source))
    tasks = (record for record in read if isinstance(record, Task))
    count = policies.TokenCount(policies.base(chosen, settings, tasks))
    desk = Desk(
        cache, count, count.fingerprint, work, target, lambda it: stage.say(f"curate: {it}")
    )
    report = curate(origins, chosen.curate.rules, desk)
    write_atomically(account, report.model_dump_json(indent=1))
    write_page(report, account.with_suffix(".html"))
    return report
