"""A training stream, followed: a bar for people, metrics for MLflow, a curve for DVC."""

from collections.abc import Iterator, Mapping

from envace.tracking.sinks import jsonl, mlflow
from envace.tracking.tracker import Row, Tracker
from pipelines import paths, stage
from pipelines.settings import Settings

Stream = Iterator[tuple[int, Mapping[str, float]]]
"""Steps, counted from 1, with their metrics."""


def follow(name: str, run: str, steps: int, stream: Stream, note: str) -> tuple[Row, ...]:
    """Runs `stream` to its end; returns the rows of all steps, those before a resumption too.

    `note` is the metric that the bar shows.
    """
    kept = paths.METRICS / f"{run}.jsonl"
    uri = Settings.load().tracking_uri
    tracker = None
    with stage.Bar(name, steps) as bar:
        for step, metrics in stream:
            tracker = tracker or Tracker(
                (
                    jsonl.build(jsonl.Config(path=kept), run, step),
                    mlflow.build(mlflow.Config(uri=uri), f"{name}-{run}", step),
                )
            )
            tracker.log(step, metrics)
            seconds = sum(value for key, value in metrics.items() if key.startswith("time/"))
            bar.at(step, f"{note} {metrics[note]:.3f}, {seconds:.0f} s a step")
    if tracker:
        tracker.close()
    return jsonl.read_rows(kept) if kept.exists() else ()
