"""An MLflow run: the curve that the team sees.

One idea: training never dies for a metric. Rows wait in memory until MLflow takes them, in order,
one batch a step; a run that is resumed continues its MLflow run after the last step that it holds.
"""

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

from envace import config
from envace.tracking.tracker import Row

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

_log = logging.getLogger(__name__)
_RUN, _STEP = "envace.run", "envace.step"
"""Tags of the MLflow run: which run it is, and the last step that it holds."""


class Config(config.Config):
    """Which MLflow, and under which experiment."""

    uri: str
    """Tracking URI: `sqlite:///…` or `http(s)://…`."""
    experiment: str = "envace"
    """Experiment that the run is filed under; made when it is not there."""


class MlflowSink:
    """Sends what is waiting at each step; when MLflow is away it waits for the next one."""

    def __init__(self, config: Config, run: str, first_step: int) -> None:
        self._config, self._name, self._first_step = config, run, first_step
        self._waiting: deque[tuple[Row, int]] = deque()
        self._client: MlflowClient | None = None
        self._run_id, self._last_step = "", -1
        self._warned = False

    def log(self, row: Row) -> None:
        """Queues the row with its time and sends what is waiting."""
        self._waiting.append((row, time.time_ns() // 1_000_000))
        self._send()

    def close(self, failed: bool = False) -> None:
        """Sends the rest and ends the MLflow run; says so when rows are lost."""
        self._send(end="FAILED" if failed else "FINISHED")
        if self._waiting:
            _log.warning("MLflow never came back: %d step(s) are not in it.", len(self._waiting))

    def _send(self, end: str | None = None) -> None:
        from mlflow.exceptions import MlflowException

        try:
            client = self._client or self._open()
            while self._waiting:
                self._send_row(client, *self._waiting[0])
                self._waiting.popleft()
            if end:
                client.set_terminated(self._run_id, end)
        except MlflowException as error:
            if not self._warned:
                _log.warning("MLflow does not answer, metrics wait in memory: %s", error)
            self._warned = True

    def _open(self) -> "MlflowClient":
        """Finds the run to continue when this one was resumed; a new run starts its own."""
        from mlflow.tracking import MlflowClient

        client = MlflowClient(self._config.uri)
        name = self._config.experiment
        experiment = client.get_experiment_by_name(name)
        found = experiment.experiment_id if experiment else client.create_experiment(name)
        runs = self._earlier(client, found) if self._first_step > 1 else []
        run = runs[0] if runs else client.create_run(found, tags={_RUN: self._name})
        self._run_id = run.info.run_id
        self._last_step = int(run.data.tags.get(_STEP, -1))
        self._client = client
        return client

    def _earlier(self, client: "MlflowClient", experiment: str) -> "list[Run]":
        """The runs of this name, the newest first."""
        query, order = f"tags.`{_RUN}` = '{self._name}'", ["attributes.start_time DESC"]
        return list(client.search_runs([experiment], query, max_results=1, order_by=order))

    def _send_row(self, client: "MlflowClient", row: Row, at: int) -> None:
        from mlflow.entities import Metric, RunTag

        if row.step <= self._last_step:
            return
        metrics = [Metric(name, value, at, row.step) for name, value in row.metrics.items()]
        client.log_batch(self._run_id, metrics, tags=[RunTag(_STEP, str(row.step))])
        self._last_step = row.step


def build(config: Config, run: str, first_step: int = 1) -> MlflowSink:
    """The sink of the run called `run`, which must not contain a quote."""
    assert "'" not in run, "a run's name contains no quote"
    return MlflowSink(config, run, first_step)
