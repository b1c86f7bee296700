"""A training stream in MLflow and in its curve: new, resumed and broken off."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from pipelines import tracked
from pipelines.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow") / "mlflow.db"


@pytest.fixture(autouse=True)
def checkout(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")


def stream(
    steps: range, value: float, dies: bool = False
) -> Iterator[tuple[int, dict[str, float]]]:
    for step in steps:
        yield step, {"reward/mean": value}
    if dies:
        raise RuntimeError("killed")


def follow(run: str, steps: range, value: float, dies: bool = False) -> list[tuple[int, float]]:
    rows = tracked.follow("train", run, 4, stream(steps, value, dies), "reward/mean")
    return [(row.step, row.metrics["reward/mean"]) for row in rows]


def runs(name: str) -> list[tuple[str, list[float]]]:
    """Status and curve of every MLflow run of this name, the newest first."""
    client = MlflowClient(Settings.load().tracking_uri)
    found = client.get_experiment_by_name("envace")
    assert found is not None
    query = f"tags.`envace.run` = 'train-{name}'"
    order = ["attributes.start_time DESC"]
    return [
        (
            run.info.status,
            [m.value for m in client.get_metric_history(run.info.run_id, "reward/mean")],
        )
        for run in client.search_runs([found.experiment_id], query, order_by=order)
    ]


def test_a_run_that_broke_off_and_was_resumed_is_one_whole_curve() -> None:
    with pytest.raises(RuntimeError, match="killed"):
        follow("broken", range(1, 3), 0.1, dies=True)
    assert runs("broken") == [("FAILED", [0.1, 0.1])]
    assert follow("broken", range(3, 5), 0.2) == [(1, 0.1), (2, 0.1), (3, 0.2), (4, 0.2)]
    assert runs("broken") == [("FINISHED", [0.1, 0.1, 0.2, 0.2])]


def test_a_new_run_of_the_same_name_shows_its_own_curve() -> None:
    follow("anew", range(1, 3), 0.1)
    assert follow("anew", range(1, 3), 0.9) == [(1, 0.9), (2, 0.9)]
    assert runs("anew") == [("FINISHED", [0.9, 0.9]), ("FINISHED", [0.1, 0.1])]
