"""Who is compared with whom: evaluate enters the champion, promote trusts only matching bytes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from envace.benchmarks.report import Report, Trial
from envace.errors import BenchmarkError, RegistryError
from envace.files import digest_of
from envace.registry.gate import Verdict
from envace.registry.models import CHAMPION, Registry, Version
from envace.registry.promote import Promotion, Reference
from envace.registry.store import put
from pipelines import evaluate, params, paths, promote, register, summary
from pipelines.records import Registered
from pipelines.settings import Settings

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow") / "mlflow.db"


@pytest.fixture(autouse=True)
def checkout(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """The ci profile, with a model of its own, in a folder with nothing made yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    text = (ROOT / "profiles/ci.yaml").read_text("utf-8")
    text = text.replace("name: envace-ci", f"name: {request.node.name}")
    rules = "rules: {min_items: 10, margin: 0.3, min_success: 0.05}"
    Path("params.yaml").write_text(re.sub("rules: {min_items.*}", rules, text), "utf-8")
    paths.TRAIN.mkdir(parents=True)
    (paths.TRAIN / "part-00000.parquet").write_text("tasks")
    paths.REPORTS.mkdir()


def trained(weights: str, folder: Path = paths.GRPO) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_text(weights)
    return digest_of(folder)


def registered(weights: str) -> Registered:
    trained(weights)
    register.main()
    return Registered.model_validate_json(paths.VERSION.read_bytes())


def evaluated(**digests: str) -> None:
    """Reports in which every policy passed all of 20 items."""
    trials = tuple(Trial(item=str(n), slice="s", status="pass", score=1) for n in range(20))
    own = {"suite": "worlds", "mode": "N=0", "seed": 0, "n_expected": 20, "trials": trials}
    reports = [Report(policy=name, digest=digest, **own) for name, digest in digests.items()]
    paths.EVALUATION.write_text(json.dumps([report.model_dump(mode="json") for report in reports]))


def registry() -> Registry:
    return Registry(Settings.load().tracking_uri, params.load().register_.name)


def champion() -> int | None:
    found = registry().alias(CHAMPION)
    return found.number if found else None


def decision() -> Mapping[str, object]:
    return json.loads(paths.DECISION.read_text())


def test_the_first_version_is_compared_with_its_warm_start() -> None:
    record = registered("1")
    evaluated(base="b", warmstart="w", grpo=record.digest)
    assert promote.main().startswith("PASS: version 1 is champion")
    found = decision()
    assert (found["version"], found["digest"], found["promoted"]) == (1, record.digest, True)
    assert found["reference"] == {"name": "warmstart", "digest": "w"}


def test_promoting_again_keeps_the_comparison_with_the_former_champion() -> None:
    first = registered("1")
    evaluated(warmstart="w", grpo=first.digest)
    promote.main()
    evaluated(warmstart="w", grpo=registered("2").digest, champion=first.digest)
    promote.main()
    before = decision()
    promote.main()
    after = decision()
    assert before["reference"] == after["reference"] == {"name": CHAMPION, "digest": first.digest}
    assert champion() == 2


def test_a_champion_that_came_since_the_evaluation_stops_the_promotion() -> None:
    first = registered("1")
    evaluated(warmstart="w", grpo=first.digest)
    registry().set_alias(CHAMPION, registered("3").version)
    registered("1")
    with pytest.raises(RegistryError, match="run 'dvc repro -f -s evaluate'"):
        promote.main()
    assert champion() == 2


def test_reports_of_other_bytes_are_refused() -> None:
    registered("1")
    evaluated(warmstart="w", grpo="other")
    with pytest.raises(BenchmarkError, match="is of policy other, but version 1 is"):
        promote.main()


def test_a_report_that_is_missing_is_one_sentence() -> None:
    evaluated(base="b", grpo=registered("1").digest)
    with pytest.raises(BenchmarkError, match="there is no report of warmstart on suite worlds"):
        promote.main()


def test_a_version_of_other_bytes_than_were_recorded_is_refused() -> None:
    record = registered("1").model_copy(update={"digest": "other"})
    paths.VERSION.write_text(record.model_dump_json())
    evaluated(warmstart="w", grpo="other")
    with pytest.raises(RegistryError, match="run 'dvc repro -f -s register'"):
        promote.main()


def test_the_champion_is_entered_with_the_digest_it_was_registered_with() -> None:
    stored = put_champion("1")
    digest = trained("2")
    found = evaluate.entries({"grpo": paths.GRPO}, stored)
    assert found == {"grpo": (paths.GRPO, digest), CHAMPION: (stored.path, stored.digest)}
    assert stored.digest == trained("1")


def test_a_champion_with_the_bytes_of_the_candidate_is_not_entered_twice() -> None:
    assert list(evaluate.entries({"grpo": paths.GRPO}, put_champion("1"))) == ["grpo"]


def test_a_champion_whose_bytes_changed_is_not_evaluated() -> None:
    stored = put_champion("1")
    trained("2")
    (stored.path / "model.safetensors").chmod(0o644)
    (stored.path / "model.safetensors").write_text("3")
    with pytest.raises(RegistryError, match="sha256"):
        evaluate.entries({"grpo": paths.GRPO}, stored)


def put_champion(weights: str) -> Version:
    trained(weights)
    stored = put(paths.GRPO, paths.STORE)
    return Version(1, stored.digest, stored.path)


def test_bytes_that_are_known_keep_their_lineage_and_say_so() -> None:
    first = registered("1")
    (paths.TRAIN / "part-00000.parquet").write_text("others")
    assert registered("1") == first


def test_the_lineage_names_only_the_parameters_that_make_the_weights() -> None:
    first = register.lineage(params.load())
    text = Path("params.yaml").read_text("utf-8")
    Path("params.yaml").write_text(text.replace("margin: 0.3", "margin: 0.4"), "utf-8")
    assert register.lineage(params.load()) == first
    Path("params.yaml").write_text(text.replace("seed: 0", "seed: 1"), "utf-8")
    assert register.lineage(params.load())["params"] != first["params"]


def test_a_version_has_the_metrics_of_its_last_step() -> None:
    paths.TRAIN_CURVE.write_text("step,act/tokens,reward/mean\n1,5.0,0.25\n2,,0.5\n")
    assert register.final(paths.TRAIN_CURVE) == {"reward/mean": 0.5}
    assert register.final(Path("gone.csv")) == {}


def test_another_registry_gets_another_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = registered("1")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/state/other.db")
    again = registered("1")
    assert again.created > first.created
    assert again.model_copy(update={"created": first.created}) == first


def decided(promoted: bool, previous: int | None) -> Promotion:
    digest = registered("1").digest
    paths.DECISION.write_text("{}")
    reference = Reference("warmstart", "w")
    return Promotion("", 1, digest, reference, previous, Verdict.PASS, promoted, ())


def test_the_summary_names_the_champion_that_the_decision_left() -> None:
    decision = decided(False, None)
    assert summary.standing(decision, registry()) == "no version is champion"
    registry().set_alias(CHAMPION, 1)
    decision = decided(True, None)
    assert summary.standing(decision, registry()) == "champion is version 1"


def test_the_summary_says_plainly_that_the_alias_was_moved() -> None:
    decision = decided(True, None)
    registry().set_alias(CHAMPION, registered("2").version)
    said = summary.standing(decision, registry())
    assert said.startswith("champion is version 2, but after the decision on version 1 champion is")


def test_the_summary_of_a_registry_without_the_champion_says_so(tmp_path: Path) -> None:
    decision = decided(True, None)
    other = Registry(f"sqlite:///{tmp_path}/other.db", "model")
    said = summary.standing(decision, other)
    assert said.startswith(
        "no version is champion, but after the decision on version 1 champion is"
    )
