"""Stage validate: the curated tasks against one suite of expectations; a failure stops the run."""

import json

from envace.errors import TaskError
from envace.files import write_atomically
from envace.tasks.reports.expectations import validate
from envace.tasks.store import read_tasks
from pipelines import paths


def main() -> str:
    """Reads, validates, reports."""
    train, heldout = read_tasks(paths.TRAIN), read_tasks(paths.HELDOUT)
    result = validate(train, heldout, paths.DATA_DOCS)
    report = {
        "success": result.success,
        "expectations": result.n_expectations,
        "failures": list(result.failures),
        "tasks": {"train": len(train), "heldout": len(heldout)},
    }
    if not result.success:
        raise TaskError(
            f"{len(result.failures)} of {result.n_expectations} expectations failed, the first: "
            f"{result.failures[0]}; see {result.page}, then correct the source or the rules."
        )
    write_atomically(paths.VALIDATION, json.dumps(report, indent=1))
    return f"{result.n_expectations} expectations hold → {result.page}"
