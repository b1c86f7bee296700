"""The data gate as a stage: a card for data that pass, one sentence for data that do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from envace.errors import TaskError
from envace.files import digest_of, sha256_of
from envace.tasks.curation.report import CurationReport, Side, SourceCount
from envace.tasks.rows import KEPT, Shards, columns_of
from envace.tasks.task import Task
from pipelines import documents, paths, stage, validate
from pipelines.settings import Settings

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.filterwarnings("ignore:module 'sre_constants':DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:module 'sre_parse':DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
]
SIDE = Side(
    tasks=1,
    sources={"worlds": 1},
    domains={"d": 1},
    tiers={"t": 1},
    families={"": 1},
    languages={"en": 1},
    tools=1,
    spreads={},
    pii={},
)
REPORT = CurationReport(
    records=2,
    train=SIDE,
    heldout=SIDE,
    rejected=0,
    reasons=(),
    sources={"worlds": SourceCount(records=2, train=1, heldout=1, rejected=0)},
    trimmed=0,
    benchmarks={},
)


def task(name: str, tool: str) -> Task:
    call = {"name": tool, "arguments": {}}
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": f"Call {tool} for {name}."},
        {"role": "assistant", "calls": [call]},
        {"role": "tool", "name": tool, "content": "{}"},
        {"role": "assistant", "content": "Done."},
    ]
    own = {"id": name, "source": "worlds", "domain": "d", "tier": "t", "system": "Be brief."}
    tools = [{"name": tool, "parameters": {"type": "object"}}]
    return Task.model_validate({**own, "tools": tools, "conversation": conversation})


def curated(trained: str, held_out: str) -> None:
    """What the stage before would have written: one task a side, with one tool each."""
    for folder, tool, tokens in ((paths.TRAIN, trained, 9), (paths.HELDOUT, held_out, None)):
        with Shards(folder, KEPT, 9) as out:
            out.add({**columns_of(task(folder.name, tool)), "n_tokens": tokens})
    paths.REPORTS.mkdir()
    paths.CURATION.write_text(REPORT.model_dump_json())
    paths.CURATION_PAGE.write_text("<html>")


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    Path("params.yaml").write_text((ROOT / "profiles/ci.yaml").read_text("utf-8"), "utf-8")
    Path("state").mkdir()


def test_data_that_pass_get_a_card_here_and_in_mlflow() -> None:
    from mlflow.tracking import MlflowClient

    curated("read", "write")
    assert validate.main() == "21 expectations hold → reports/data_card.md"
    card = paths.CARD.read_text("utf-8")
    assert digest_of(paths.TRAIN) in card
    assert sha256_of(paths.HELDOUT / "part-00000.parquet") in card
    assert "| that of this project. |" in card
    assert json.loads(paths.VALIDATION.read_text())["tasks"] == {"train": 1, "heldout": 1}
    client = MlflowClient(Settings.load().tracking_uri)
    found = client.get_experiment_by_name(documents.EXPERIMENT)
    assert found is not None
    (run,) = client.search_runs([found.experiment_id])
    assert run.data.tags["data"] == digest_of(paths.TRAIN)
    kept = {entry.path for entry in client.list_artifacts(run.info.run_id)}
    assert kept == {"data_card.md", "curation.html"}


def test_a_tool_on_both_sides_stops_the_run_and_leaves_no_card() -> None:
    curated("read", "read")
    with pytest.raises(TaskError, match=r"1 of 21 expectations failed, the first: tool_on_both_s"):
        validate.main()
    assert not paths.CARD.exists()
    assert (paths.DATA_DOCS / "index.html").is_file()


def test_a_curation_without_its_report_is_one_sentence() -> None:
    curated("read", "write")
    paths.CURATION.unlink()
    with pytest.raises(stage.InputError, match="run 'dvc repro -f -s curate'"):
        validate.main()
