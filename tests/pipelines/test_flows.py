from pathlib import Path

import pytest
from prefect.logging import disable_run_logger
from prefect.testing.utilities import prefect_test_harness

from pipelines.dag import stages
from pipelines.flows import RETRIES, StageError, retrain, run_stage, stage_task

TOY = """
stages:
  train: {cmd: "echo train >> order.txt", deps: [data.txt]}
  curate: {cmd: "echo curate >> order.txt && echo x > data.txt", outs: [data.txt]}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A DVC project without git, whose stages write down that they ran."""
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = True\n    analytics = False\n")
    (tmp_path / "dvc.yaml").write_text(TOY)
    return tmp_path


def test_a_stage_is_run_and_hands_on_its_name(workspace: Path) -> None:
    with disable_run_logger():
        assert run_stage.fn("curate", str(workspace)) == "curate"
    assert (workspace / "order.txt").read_text() == "curate\n"


def test_a_failing_stage_is_named_in_one_sentence(workspace: Path) -> None:
    (workspace / "dvc.yaml").write_text("stages:\n  train: {cmd: exit 3}\n")
    with disable_run_logger(), pytest.raises(StageError, match=r"^stage 'train' ended with \d+; "):
        run_stage.fn("train", str(workspace))


def test_training_is_never_tried_again() -> None:
    assert stage_task("train").retries == 0


@pytest.mark.parametrize("stage", RETRIES)
def test_a_stage_that_reaches_outside_is_tried_twice(stage: str) -> None:
    assert stage_task(stage).retries == 1


@pytest.mark.integration
def test_the_flow_runs_the_stages_in_the_order_of_dvc_yaml(workspace: Path) -> None:
    with prefect_test_harness(server_startup_timeout=120):
        done = retrain(str(workspace))
    assert done == stages(workspace / "dvc.yaml") == ("curate", "train")
    assert (workspace / "order.txt").read_text().split() == list(done)
