"""Documents of a data set in MLflow, beside the runs that were trained on it.

One idea: no stage dies for a document. The same documents are kept once, however often a stage is
run again.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from envace.files import sha256_of
from pipelines import paths, stage

_log = logging.getLogger(__name__)
EXPERIMENT = "envace-data"
"""Experiment that the documents are filed under, one run a data set."""
_TAG = "envace.documents"
"""Tag of a run: what its documents are, as a hash."""


def keep(uri: str, tags: Mapping[str, str], files: Sequence[Path]) -> None:
    """Keeps `files` as artifacts of a run with `tags`, unless a run has just these."""
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    known = stage.fingerprint({**tags}, [sha256_of(path) for path in files])
    try:
        client = MlflowClient(uri)
        found = client.get_experiment_by_name(EXPERIMENT)
        home = found.experiment_id if found else client.create_experiment(EXPERIMENT, _place(uri))
        if client.search_runs([home], f"tags.`{_TAG}` = '{known}'", max_results=1):
            return
        run = client.create_run(home, run_name=f"data-{known}", tags={**tags}).info.run_id
        for path in files:
            client.log_artifact(run, str(path))
        client.set_tag(run, _TAG, known)
        client.set_terminated(run)
    except MlflowException as error:
        _log.warning("MLflow does not answer, the data card is in %s alone: %s", files[0], error)


def _place(uri: str) -> str | None:
    """Where artifacts go: a server knows, a database is told."""
    return None if uri.startswith("http") else paths.DOCUMENTS.resolve().as_uri()
