"""Broken and hostile records: each gets a reason, nothing breaks, nothing is asked of a network."""

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from envace.artifacts import Cache
from envace.tasks.curation.config import Config
from envace.tasks.curation.curate import Desk, Origin, curate
from envace.tasks.sources import openai_chat
from envace.tasks.store import read_rejected, read_tasks
from tests.fixtures.hostile import GOOD, LINES, good

ONE = Config.model_validate({"engine": {"name": "local", "workers": 1}, "held_out_share": 0})


def curated(lines: list[bytes], desk: Desk) -> list[str]:
    """Curates a file of these lines; the reasons in their order."""
    desk.target.parent.mkdir(parents=True, exist_ok=True)
    file = desk.target.parent / "logs.jsonl"
    file.write_bytes(b"\n".join(lines))
    config = openai_chat.Config.model_validate({"files": [{"path": str(file)}]})
    source = openai_chat.build(config, Cache(desk.work))
    curate([Origin("openai_chat", "", source)], ONE, desk)
    return [rejected.reason for rejected in read_rejected(desk.target / "rejected")]


def test_there_are_sixty_and_more() -> None:
    assert len(LINES) >= 60
    assert len({name for name, _, _ in LINES}) == len({line for _, line, _ in LINES}) == len(LINES)


@pytest.mark.usefixtures("socket_disabled")
@pytest.mark.parametrize(
    ("line", "code"), [(line, code) for _, line, code in LINES], ids=[n for n, _, _ in LINES]
)
def test_each_is_dropped_with_its_reason_and_the_others_are_kept(
    line: bytes, code: str, desk: Desk
) -> None:
    began = time.monotonic()
    (reason,) = curated([good(), line.replace(b"\n", b" ")], desk)
    assert reason.partition(":")[0] == code
    assert len(reason) <= 500
    assert time.monotonic() - began < 20
    assert [task.id for task in read_tasks(desk.target / "train")] == ["openai_chat/good"]


@pytest.mark.usefixtures("socket_disabled")
def test_all_in_one_file_are_counted_by_their_reasons(desk: Desk) -> None:
    lines = [line.replace(b"\n", b" ") for _, line, _ in LINES]
    reasons = curated([good(), *lines], desk)
    assert Counter(reason.partition(":")[0] for reason in reasons) == Counter(
        code for _, _, code in LINES
    )


def test_a_text_that_would_run_is_only_a_text(desk: Desk, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    said = f"__import__('pathlib').Path('{trap}').touch() $(touch {trap}) {{{{7*7}}}} [red]\x1b[2J"
    record = {**GOOD, "messages": [*GOOD["messages"][:4], {"role": "assistant", "content": said}]}
    assert curated([json.dumps(record).encode()], replace(desk)) == []
    assert read_tasks(desk.target / "train")[0].conversation[-1].content == said
    assert not trap.exists()
