from pathlib import Path

import pytest

from envace.errors import ConfigError
from pipelines.dag import stages


def dvc_yaml(folder: Path, text: str) -> Path:
    path = folder / "dvc.yaml"
    path.write_text(text)
    return path


def test_a_stage_follows_the_stage_whose_output_it_needs(tmp_path: Path) -> None:
    text = """
stages:
  train: {cmd: t, deps: [data/tasks.jsonl], outs: [model]}
  curate: {cmd: c, outs: [data]}
"""
    assert stages(dvc_yaml(tmp_path, text)) == ("curate", "train")


def test_metrics_and_plots_with_options_are_outputs_too(tmp_path: Path) -> None:
    text = """
stages:
  promote: {cmd: p, deps: [report.json, curve.csv]}
  evaluate: {cmd: e, metrics: [report.json: {cache: false}]}
  train: {cmd: t, plots: [curve.csv: {x: step}]}
"""
    assert stages(dvc_yaml(tmp_path, text)) == ("evaluate", "train", "promote")


def test_independent_stages_keep_the_order_of_the_file(tmp_path: Path) -> None:
    text = "stages:\n  b: {cmd: b}\n  a: {cmd: a}\n  c: {cmd: c}\n"
    assert stages(dvc_yaml(tmp_path, text)) == ("b", "a", "c")


def test_a_dep_on_a_folder_waits_for_what_is_put_into_it(tmp_path: Path) -> None:
    text = "stages:\n  b: {cmd: b, deps: [data]}\n  a: {cmd: a, outs: [data/raw]}\n"
    assert stages(dvc_yaml(tmp_path, text)) == ("a", "b")


def test_a_like_named_path_is_not_a_dependency(tmp_path: Path) -> None:
    text = "stages:\n  b: {cmd: b, deps: [data2]}\n  a: {cmd: a, outs: [data]}\n"
    assert stages(dvc_yaml(tmp_path, text)) == ("b", "a")


def test_a_circle_is_refused_with_its_stages(tmp_path: Path) -> None:
    text = "stages:\n  a: {cmd: a, deps: [y], outs: [x]}\n  b: {cmd: b, deps: [x], outs: [y]}\n"
    with pytest.raises(ConfigError, match=r"goes in a circle: (a > b > a|b > a > b)"):
        stages(dvc_yaml(tmp_path, text))


def test_a_file_without_stages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no stages"):
        stages(dvc_yaml(tmp_path, "stages: {}\n"))


def test_a_stage_that_multiplies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stage 'a' uses matrix"):
        stages(dvc_yaml(tmp_path, "stages:\n  a: {cmd: a, matrix: {x: [1]}}\n"))
