"""`python -m pipelines` with a word that names no stage."""

from pathlib import Path

import pytest

from pipelines.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evalute"], "pipelines: there is no stage 'evalute'; did you mean 'evaluate'?"),
        (["flows"], "pipelines: there is no stage 'flows'; it has curate, evaluate, promote, "),
        ([], "pipelines: got 0 words, expected one stage; it has curate, evaluate, promote, "),
    ],
)
def test_a_word_that_names_no_stage_is_one_sentence(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert str(caught.value.code).startswith(said)


def test_a_folder_without_dvc_yaml_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"pipelines: dvc\.yaml cannot be read"):
        main(["curate"])
