"""How a stage reads what the one before it wrote, and what names the code that it runs."""

from pathlib import Path

import pytest

from envace.benchmarks.report import Report
from pipelines import stage
from pipelines.records import Registered

RECORD = Registered(name="m", version=1, digest="d", created=5, lineage={"seed": "0"})


def test_what_a_stage_wrote_is_read_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "version.json"
    path.write_text(RECORD.model_dump_json())
    assert stage.read(path, Registered, "register") == RECORD


def test_a_report_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    said = r"gone\.json cannot be read \(No such .*\); run 'dvc repro -f -s register', then"
    with pytest.raises(stage.InputError, match=said):
        stage.read(tmp_path / "gone.json", Registered, "register")


@pytest.mark.parametrize("text", ['[{"suite": "worlds"', '[{"suite": "worlds"}]', "{}"])
def test_a_report_that_was_altered_is_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    path.write_text(text)
    with pytest.raises(stage.InputError, match="is not as evaluate writes it") as caught:
        stage.read(path, tuple[Report, ...], "evaluate")
    assert "\n" not in str(caught.value)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A dvc.yaml with one stage that depends on code and on data."""
    deps = "[pipelines/a.py, components/envace/grpo, data/tasks]"
    (tmp_path / "dvc.yaml").write_text(f"stages:\n  a: {{cmd: a, deps: {deps}}}\n")
    for name in ("pipelines/a.py", "components/envace/grpo/loss.py", "data/tasks"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path / "dvc.yaml"


@pytest.mark.parametrize("name", ["pipelines/a.py", "components/envace/grpo/loss.py"])
def test_changed_code_has_another_name(name: str, checkout: Path) -> None:
    before = stage.code_of("a", checkout)
    (checkout.parent / name).write_text("x = 2\n")
    assert stage.code_of("a", checkout) != before


@pytest.mark.parametrize("name", ["data/tasks", "components/envace/grpo/loss.cpython-311.pyc"])
def test_data_and_compiled_files_are_not_code(name: str, checkout: Path) -> None:
    before = stage.code_of("a", checkout)
    (checkout.parent / name).write_text("y = 2\n")
    assert stage.code_of("a", checkout) == before


def test_a_fetched_file_is_said_at_once_and_then_only_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell = stage.Fetching()
    for done in (0, 1 << 20, 2 << 20):
        tell("pypi://a", done, 3 << 20)
    assert capsys.readouterr().out == "fetching pypi://a\n"
