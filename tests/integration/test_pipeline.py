"""The whole pipeline on the ci profile: real stages in a checkout of their own, run by DVC."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.dag import stages

ROOT = Path(__file__).parents[2]
STAGES = stages(ROOT / "dvc.yaml")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code with the ci profile active, and everything run once."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("components", "pipelines", "profiles"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copyfile(ROOT / name, folder / name)
    shutil.copyfile(ROOT / "profiles/ci.yaml", folder / "params.yaml")
    (folder / ".dvc").mkdir()
    config = (ROOT / ".dvc/config").read_text("utf-8")
    (folder / ".dvc/config").write_text(config.replace("[core]", "[core]\n    no_scm = true"))
    done = run(folder, "dvc", "repro")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(folder: Path, module: str, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a module of ours or of DVC in a checkout, with this interpreter first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    own = {"PATH": path, "PYTHONPATH": f"{folder / 'components'}{os.pathsep}{folder}"}
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=folder,
        env={**os.environ, **own, "ENVACE_CACHE": str(folder / "cache")},
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )


def read(path: Path) -> dict[str, Any]:
    """A JSON report."""
    return json.loads(path.read_text("utf-8"))


def test_a_version_is_registered_with_its_lineage(checkout: Path) -> None:
    version = read(checkout / "reports/version.json")
    assert version["version"] == 1
    assert (checkout / "state/store" / str(version["digest"]) / "model.safetensors").is_file()
    assert {"data", "params", "base", "commit", "profile"} == set(version["lineage"])


def test_every_policy_is_evaluated_by_real_execution(checkout: Path) -> None:
    worlds = read(checkout / "reports/scores.json")["worlds"]
    assert list(worlds) == ["base N=0", "warmstart N=0", "grpo N=0", "grpo N=2"]
    assert all(row["scored"] == row["expected"] == 12 for row in worlds.values())


def test_warm_start_is_learned_from(checkout: Path) -> None:
    rows = (checkout / "reports/warmstart.csv").read_text("utf-8").splitlines()
    place = rows[0].split(",").index("warmstart/loss")
    losses = [float(row.split(",")[place]) for row in rows[1:]]
    assert losses[-1] < losses[0] / 2


def test_the_page_and_the_decision_are_there(checkout: Path) -> None:
    assert "airline/one_call" in (checkout / "reports/evaluation.html").read_text("utf-8")
    decision = read(checkout / "reports/decision.json")
    ledger = (checkout / "state/decisions.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["verdict"] for line in ledger] == [decision["verdict"]]
    assert decision["reference"]["name"] == "warmstart"
    assert decision["digest"] == read(checkout / "reports/version.json")["digest"]


def test_metrics_are_shown_by_dvc(checkout: Path) -> None:
    shown = run(checkout, "dvc", "metrics", "show", "--json").stdout
    assert json.loads(shown)[""]["data"]["reports/scores.json"]["data"]["worlds"]


def test_what_did_not_earn_it_is_not_promoted_and_chat_says_so(checkout: Path) -> None:
    assert read(checkout / "reports/decision.json")["verdict"] == "FAIL"
    done = run(checkout, "pipelines.cli", "chat")
    assert done.returncode == 1
    assert "no version of envace-ci is champion yet" in done.stderr


def test_a_changed_rule_runs_the_gate_alone_and_what_passes_it_answers(checkout: Path) -> None:
    params = checkout / "params.yaml"
    params.write_text(params.read_text("utf-8").replace("min_success: 0.05", "min_success: 0"))
    again = run(checkout, "dvc", "repro")
    assert [name for name in STAGES if f"Running stage '{name}'" in again.stdout] == ["promote"]
    assert read(checkout / "reports/decision.json")["verdict"] == "PASS"
    told = run(checkout, "pipelines.cli", "chat", "--rehearsals", "1", said="Cancel order O-353.\n")
    assert told.returncode == 0, told.stderr
    assert "envace-ci version 1 in retail, N=1." in told.stdout


def test_a_state_that_was_lost_is_registered_again(checkout: Path) -> None:
    kept = (checkout / "state").rename(checkout / "kept")
    planned = run(checkout, "dvc", "repro", "--dry").stdout
    kept.rename(checkout / "state")
    assert [name for name in STAGES if f"Running stage '{name}'" in planned] == ["register"]


def test_a_stage_that_fails_says_one_sentence_and_leaves_nothing_to_trust(checkout: Path) -> None:
    tasks = checkout / "data/tasks/train/part-00000.parquet"
    kept = tasks.read_bytes()
    tasks.unlink()  # it is a link into DVC's cache
    tasks.write_bytes(b"PAR1 half a file")
    done = run(checkout, "pipelines", "warmstart")
    tasks.unlink()
    tasks.write_bytes(kept)
    assert done.returncode == 1
    assert done.stderr.startswith(f"warmstart: {tasks.relative_to(checkout)} is no Parquet file")
    assert len(done.stderr.splitlines()) == 1
    assert not list(checkout.glob("models/.*.part"))
