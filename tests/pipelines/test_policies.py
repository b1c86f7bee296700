"""How long a task is, counted by the tokenizer of a policy, and what a base is made from."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envace.tasks.task import Task
from pipelines import params, policies
from pipelines.settings import Settings
from pipelines.yaml12 import read_yaml
from tests.fixtures.tiny import tokenizer_of

ROOT = Path(__file__).parents[2]
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {}}}


def task(reply: str, result: str = "", name: str = "t") -> Task:
    """One user message and a reply; with a `result`, a call before it."""
    call = [
        {"role": "assistant", "calls": [{"name": "f", "arguments": {}}]},
        {"role": "tool", "name": "f", "content": result},
    ]
    said = [{"role": "user", "content": "Go."}, *(call if result else [])]
    own: dict[str, Any] = {"id": name, "source": "s", "domain": "d", "tier": "t", "system": "Be."}
    conversation = [*said, {"role": "assistant", "content": reply}]
    return Task.model_validate({**own, "tools": [TOOL], "conversation": conversation})


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> policies.TokenCount:
    """A token is a byte."""
    monkeypatch.chdir(ROOT)
    tokenizer_of().save(str(tmp_path / "tokenizer.json"))
    return policies.TokenCount(tmp_path)


def test_a_longer_reply_is_as_many_tokens_longer(count: policies.TokenCount) -> None:
    assert count(task("Done, sir.")) - count(task("Ok.")) == 7


def test_the_longest_sequence_of_both_roles_counts(count: policies.TokenCount) -> None:
    """A rehearsed result stands in the prompt, among the recorded calls, and is the answer."""
    short, long = (task("Ok.", f'{{"a": "{"x" * size}"}}') for size in (400, 500))
    assert count(long) - count(short) == 200


def test_it_is_the_same_in_another_process(count: policies.TokenCount) -> None:
    sent = pickle.loads(pickle.dumps(count))
    assert (sent, sent(task("Ok."))) == (count, count(task("Ok.")))


def test_another_tokenizer_has_another_fingerprint(
    count: policies.TokenCount, tmp_path: Path
) -> None:
    before = count.fingerprint
    assert policies.TokenCount(tmp_path).fingerprint == before
    tokenizer_of(["Done done done"]).save(str(tmp_path / "tokenizer.json"))
    assert count.fingerprint != before


def test_a_tokenizer_is_made_from_the_first_tasks_alone(tmp_path: Path) -> None:
    values = read_yaml(ROOT / "profiles/ci.yaml")
    small = {"name": "scratch", "hidden_size": 8, "layers": 1, "heads": 1, "vocab_size": 300}
    chosen = params.Params.read({**values, "policy": {"base": small}}, "params")
    settings = Settings(cache=tmp_path, tracking_uri="", s3_endpoint=None)
    first = [task(f"Done {n}.", name=f"t{n}") for n in range(policies.TOKENIZER_TASKS)]

    def more() -> Iterator[Task]:
        yield from first
        raise AssertionError("one more was read")

    folder = policies.base(chosen, settings, more())
    assert policies.base(chosen, settings, [*first, task("More.")]) == folder
    assert policies.base(chosen, settings, first[1:]) != folder
