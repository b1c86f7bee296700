"""The documents of a data set in MLflow: kept once, and never what stops a stage."""

from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from pipelines import documents

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data_card.md"
    path.write_text("# Data card\n")
    return path


def kept(uri: str) -> list[tuple[str, str]]:
    """The data that each run is of and what its card says, the newest first."""
    client = MlflowClient(uri)
    found = client.get_experiment_by_name(documents.EXPERIMENT)
    assert found is not None
    runs = client.search_runs([found.experiment_id], order_by=["attributes.start_time DESC"])
    assert {run.info.status for run in runs} == {"FINISHED"}
    return [
        (
            run.data.tags["data"],
            Path(client.download_artifacts(run.info.run_id, "data_card.md")).read_text(),
        )
        for run in runs
    ]


def test_the_same_documents_are_kept_once_and_others_beside_them(uri: str, card: Path) -> None:
    for _ in range(2):
        documents.keep(uri, {"data": "abc"}, [card])
    assert kept(uri) == [("abc", "# Data card\n")]
    card.write_text("# Another\n")
    documents.keep(uri, {"data": "def"}, [card])
    assert kept(uri) == [("def", "# Another\n"), ("abc", "# Data card\n")]
    assert {entry.name for entry in card.parent.iterdir()} == {"data_card.md", "state"}


def test_no_stage_dies_when_mlflow_is_away(card: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents.keep("http://127.0.0.1:9", {"data": "abc"}, [card])
    assert f"the data card is in {card} alone" in caplog.text
