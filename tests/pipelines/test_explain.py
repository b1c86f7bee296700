import io
from pathlib import Path

import pytest
from rich.console import Console

from envace.errors import ConfigError
from pipelines import explain, params, policies

PROFILES = sorted(Path(__file__).parents[2].glob("profiles/*.yaml"))


def said(chosen: params.Params) -> str:
    out = io.StringIO()
    explain.show(chosen, Console(file=out, width=200))
    return out.getvalue()


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_is_explained(path: Path) -> None:
    text = said(params.load(path))
    assert "S = min(r·A, clip(r, 0.8, 1.2)·A)" in text
    assert "b(x, r) = mean of R over the outputs of role r in the group of task x" in text
    assert "train.update.pack_tokens" in text
    assert "at the worst moment" in text
    assert "TFLOP" in text


def changed(section: str, **fields: object) -> params.Params:
    chosen = params.load(next(path for path in PROFILES if path.stem == "laptop"))
    values = params.plain(chosen)
    values[section] |= fields
    return params.Params.read(values, "test")


def test_the_estimator_that_is_chosen_is_the_one_that_is_shown() -> None:
    text = said(changed("train", advantage={"name": "act_only"}))
    assert "A(o) = 0" in text


def test_memory_is_that_of_the_laptop_policy() -> None:
    # 134,479,872 weights of 4 bytes are 0.50 GiB, and AdamW keeps two moments of each.
    lines = {
        line.split("│")[1].strip(): line
        for line in said(changed("train")).splitlines()
        if line.startswith("│") and line.count("│") == 3
    }
    assert "0.50" in lines["weights"]
    assert "1.00" in lines["moments of AdamW"]


def test_a_policy_of_unknown_size_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match=r"policy.shape is not given"):
        said(changed("policy", shape=None))


def test_a_policy_of_another_size_than_stated_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"num_attention_heads": 9, "hidden_size": 576, "intermediate_size": 1536,'
        ' "num_hidden_layers": 31, "num_key_value_heads": 3, "vocab_size": 49152,'
        ' "tie_word_embeddings": true}'
    )
    with pytest.raises(ConfigError, match=r"layers=31 .* but policy\.shape states layers=30"):
        policies.policy(changed("policy"), tmp_path)
