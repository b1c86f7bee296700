"""Stage validate: the curated tasks against one suite of expectations; a failure stops the run.

What passes gets a data card, which is kept in MLflow too.
"""

import importlib
import json

from envace.errors import TaskError
from envace.files import digest_of, sha256_of, write_atomically
from envace.tasks.curation.report import CurationReport
from envace.tasks.reports import card
from envace.tasks.reports.expectations import validate
from envace.tasks.reports.page import summary
from pipelines import documents, params, paths, stage
from pipelines.settings import Settings


def main() -> str:
    """Reads, validates, reports."""
    chosen = params.load()
    report = stage.read(paths.CURATION, CurationReport, "curate")
    result = validate(paths.TRAIN, paths.HELDOUT, chosen.curate.rules, paths.DATA_DOCS)
    if not result.success:
        raise TaskError(
            f"{len(result.failures)} of {result.n_expectations} expectations failed, the first: "
            f"{result.failures[0]}; see {result.page}, then correct the source or the rules."
        )
    found = {
        "success": result.success,
        "expectations": result.n_expectations,
        "tasks": {"train": report.train.tasks, "heldout": report.heldout.tasks},
    }
    described = described_by(chosen, report, result.n_expectations)
    write_atomically(paths.CARD, card.write(described))
    tags = {"data": described.data, "profile": chosen.profile, "summary": summary(report)}
    documents.keep(Settings.load().tracking_uri, tags, (paths.CARD, paths.CURATION_PAGE))
    write_atomically(paths.VALIDATION, json.dumps(found, indent=1))
    return f"{result.n_expectations} expectations hold → {paths.CARD}"


def described_by(chosen: params.Params, report: CurationReport, expectations: int) -> card.Card:
    """What the data card is written from."""
    sources = [(each.package, each.name) for each in chosen.curate.sources]
    docs = {name: importlib.import_module(f"{package}.{name}").__doc__ for package, name in sources}
    shards = sorted(paths.TASKS.rglob("*.parquet"))
    return card.Card(
        profile=chosen.profile,
        report=report,
        sources=[card.header(name, docs[name] or "") for _, name in sources],
        curate=params.plain(chosen.curate),
        expectations=expectations,
        data=digest_of(paths.TRAIN),
        files={path.relative_to(paths.TASKS).as_posix(): sha256_of(path) for path in shards},
    )
