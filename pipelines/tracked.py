"""A training stream, followed: a bar for people, metrics for MLflow, a curve for DVC."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from envace.tracking.sinks import jsonl, mlflow
from envace.tracking.tracker import Row, Tracker
from pipelines import paths, stage
from pipelines.settings import Settings

Stream = Iterator[tuple[int, Mapping[str, float]]]
"""Steps, counted from 1, with their metrics; the first is not 1 when the run was resumed."""


def follow(name: str, run: str, steps: int, stream: Stream, note: str) -> tuple[Row, ...]:
    """Runs `stream` to its end; returns the rows of all steps, those before a resumption too.

    `note` is the metric that the bar shows.
    """
    kept = paths.METRICS / f"{run}.jsonl"
    tracker = None
    with stage.Bar(name, steps) as bar, ExitStack() as stack:
        for step, metrics in stream:
            tracker = tracker or stack.enter_context(_tracker(kept, f"{name}-{run}", step))
            tracker.log(step, metrics)
            seconds = sum(value for key, value in metrics.items() if key.startswith("time/"))
            bar.at(step, f"{note} {metrics[note]:.3f}, {seconds:.0f} s a step")
    return jsonl.read_rows(kept)


def _tracker(kept: Path, run: str, first_step: int) -> Tracker:
    """Where the metrics of a run go that starts, or goes on, at `first_step`."""
    own = mlflow.Config(uri=Settings.load().tracking_uri)
    return Tracker(
        (
            jsonl.build(jsonl.Config(path=kept), run, first_step),
            mlflow.build(own, run, first_step),
        )
    )
