import contextlib
import sqlite3
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from envace.tracking.sinks.mlflow import Config, build
from envace.tracking.tracker import Row

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow") / "mlflow.db"


@pytest.fixture(scope="module")
def uri(database: Path) -> str:
    return f"sqlite:///{database}"


def history(uri: str, experiment: str) -> list[tuple[int, float]]:
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    assert found is not None
    run, *_ = client.search_runs([found.experiment_id], order_by=["attributes.start_time DESC"])
    points = client.get_metric_history(run.info.run_id, "reward/mean")
    return sorted((point.step, point.value) for point in points)


def write(uri: str, experiment: str, steps: range, scale: float = 0.1) -> None:
    sink = build(Config(uri=uri, experiment=experiment), "train", steps[0])
    for step in steps:
        sink.log(Row(step, {"reward/mean": step * scale}))
    sink.close()


def statuses(uri: str, experiment: str) -> list[str]:
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(experiment)
    assert found is not None
    return [run.info.status for run in client.search_runs([found.experiment_id])]


def test_steps_arrive_and_the_run_ends(uri):
    write(uri, "plain", range(1, 3))
    assert history(uri, "plain") == [(1, 0.1), (2, 0.2)]
    assert statuses(uri, "plain") == ["FINISHED"]


def test_a_run_that_broke_off_is_shown_as_failed(uri):
    sink = build(Config(uri=uri, experiment="broken"), "train")
    sink.log(Row(1, {"reward/mean": 0.1}))
    sink.close(failed=True)
    assert statuses(uri, "broken") == ["FAILED"]


def test_a_new_run_of_the_same_name_has_a_curve_of_its_own(uri):
    write(uri, "anew", range(1, 4))
    write(uri, "anew", range(1, 3), scale=0.5)
    assert history(uri, "anew") == [(1, 0.5), (2, 1.0)]


def test_a_resumed_run_continues_its_run_without_doubles(uri):
    write(uri, "resumed", range(1, 4))
    write(uri, "resumed", range(3, 5))
    assert history(uri, "resumed") == [(1, 0.1), (2, 0.2), (3, pytest.approx(0.3)), (4, 0.4)]
    assert statuses(uri, "resumed") == ["FINISHED"]


def test_rows_wait_while_mlflow_is_away_and_arrive_in_order_when_it_is_back(uri, database, caplog):
    sink = build(Config(uri=uri, experiment="away"), "train")
    sink.log(Row(0, {"reward/mean": 0.0}))
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("ALTER TABLE metrics RENAME TO elsewhere")
        for step in (1, 2):
            sink.log(Row(step, {"reward/mean": step / 10}))
        other.execute("ALTER TABLE elsewhere RENAME TO metrics")
    sink.log(Row(3, {"reward/mean": 0.3}))
    sink.close()
    assert history(uri, "away") == [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3)]
    assert caplog.text.count("MLflow does not answer") == 1


def test_a_run_without_any_mlflow_ends_and_says_what_was_lost(tmp_path, caplog):
    sink = build(Config(uri=f"file://{tmp_path}/refused"), "train")
    sink.log(Row(0, {"reward/mean": 0.0}))
    sink.close()
    assert "1 step(s) are not in it" in caplog.text
