from pathlib import Path

import pytest
import yaml as pyyaml
from dvc.utils.serialize import load_yaml

from envace.errors import ConfigError
from pipelines.yaml12 import read_yaml

READ = {
    "1e-6": 1e-6,
    "1e6": 1e6,
    "no": "no",
    "0o17": 15,
    "12:30": "12:30",
    "1_000": 1000,
}


def written(folder: Path, text: str) -> Path:
    path = folder / "params.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", READ)
def test_our_reader_and_dvcs_agree(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, f"value: {text}\n")
    ours, theirs = read_yaml(path)["value"], load_yaml(str(path))["value"]
    assert (type(ours), ours) == (type(theirs), theirs) == (type(READ[text]), READ[text])


@pytest.mark.parametrize(
    ("text", "other"), [("1e-6", "1e-6"), ("1e6", "1e6"), ("no", False), ("0o17", "0o17")]
)
def test_pyyaml_reads_something_else(text: str, other: object) -> None:
    assert pyyaml.safe_load(text) == other != READ[text]


def test_pyyaml_reads_a_time_as_a_number() -> None:
    assert pyyaml.safe_load("12:30") == 12 * 60 + 30


def test_a_key_given_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "train:\n  lr: 1e-6\n  lr: 2e-6\n")
    with pytest.raises(ConfigError, match=r"params\.yaml, line 3: found duplicate key \"lr\""):
        read_yaml(path)


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf", "1e999"])
def test_a_number_that_is_not_finite_is_refused_with_its_line(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, f"train:\n  lr: {number}\n")
    with pytest.raises(ConfigError, match=rf"line 2: {number} is not a finite number"):
        read_yaml(path)


def test_a_document_that_cannot_be_parsed_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a: 1\nb: [1, 2\nc: 3\n")
    with pytest.raises(ConfigError, match=r"params\.yaml, line 3: "):
        read_yaml(path)


def test_a_list_is_not_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds a list, expected a mapping"):
        read_yaml(written(tmp_path, "- 1\n"))


def test_an_empty_file_is_an_empty_mapping(tmp_path: Path) -> None:
    assert read_yaml(written(tmp_path, "# nothing\n")) == {}


def test_a_file_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml cannot be read: No such file"):
        read_yaml(tmp_path / "params.yaml")


def test_a_file_that_is_not_utf8_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_yaml(path)
