from collections.abc import Mapping
from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from envace.config import Config, nearest
from envace.errors import ConfigError
from envace.plugins import Plugin, plugin_of


class Engine(Config):
    """A nested component."""

    batch_size: int = Field(default=8, gt=0)
    """Sequences a batch."""
    learning_rate: float = 1e-6
    """Step size."""


class Run(Config):
    """A component that nests another, a list of them, and a plug-in."""

    steps: int
    """Number of steps."""
    engine: Engine = Engine()
    """The engine."""
    others: tuple[Engine, ...] = ()
    """More engines."""
    named: Mapping[str, Engine] = {}
    """More engines, by name."""
    advantage: Annotated[Plugin | None, plugin_of("envace.grpo.advantages")] = None
    """The estimator."""


def refused(**values: object) -> str:
    with pytest.raises(ConfigError) as error:
        Run.read({"steps": 1, **values}, "train")
    return str(error.value)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"stepz": 1}, "train.stepz is not a parameter; did you mean 'steps'?"),
        (
            {"zzz": 1},
            "train.zzz is not a parameter; it has advantage, engine, named, others, steps.",
        ),
        (
            {"engine": {"batchsize": 1}},
            "train.engine.batchsize is not a parameter; did you mean 'batch_size'?",
        ),
        (
            {"others": [{}, {"learning_rat": 1}]},
            "train.others.1.learning_rat is not a parameter; did you mean 'learning_rate'?",
        ),
        (
            {"named": {"a": {"learning_rat": 1}}},
            "train.named.a.learning_rat is not a parameter; did you mean 'learning_rate'?",
        ),
        (
            {"engine": {"batch_size": "many"}},
            "train.engine.batch_size is 'many': input should be a valid integer, "
            "unable to parse string as an integer.",
        ),
        (
            {"engine": {"batch_size": 0}},
            "train.engine.batch_size is 0: input should be greater than 0.",
        ),
        ({"steps": None}, "train.steps is None: input should be a valid integer."),
    ],
)
def test_a_bad_value_gets_one_sentence_with_its_path(
    values: dict[str, object], sentence: str
) -> None:
    assert refused(**values) == sentence


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            "role_wize",
            "train.advantage: envace.grpo.advantages has no 'role_wize'; did you mean 'role_wise'?",
        ),
        (
            {"name": "zzz"},
            "train.advantage: envace.grpo.advantages has no 'zzz'; "
            "it has act_only, leave_one_out, pooled, role_wise.",
        ),
        (3, "train.advantage: got 3, expected a name or a mapping with a 'name'."),
    ],
)
def test_a_bad_plugin_gets_one_sentence_with_its_path(spec: object, sentence: str) -> None:
    assert refused(advantage=spec) == sentence


def test_a_bad_option_of_a_plugin_names_the_nearest() -> None:
    said = refused(advantage={"name": "role_wise", "weightin": "output"})
    assert said.startswith("train.advantage: role_wise.weightin is not a parameter; ")


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^train\.steps is missing; add it"):
        Run.read({}, "train")


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^train is 'x': input should be a valid dictionary"):
        Run.read("x", "train")


@pytest.mark.parametrize(
    "values",
    [
        {"steps": "1\n2"},
        {"a\nb": 1},
        {"engine": {"a\nb": 1}},
        {"engine": "x\ny"},
        {"advantage": "x\ny"},
        {"advantage": {"name": "role_wise", "a\nb": 1}},
    ],
)
def test_a_sentence_has_no_line_break_whatever_was_given(values: dict[str, object]) -> None:
    assert "\n" not in refused(**values)


def test_a_config_cannot_be_changed() -> None:
    config = Run.read({"steps": "3"}, "train")
    assert config == Run(steps=3)
    with pytest.raises(ValidationError, match="frozen"):
        config.__setattr__("steps", 4)


def test_the_nearest_name_or_all_of_them_are_offered() -> None:
    assert nearest("stepz", ["steps", "seed"]) == "did you mean 'steps'?"
    assert nearest("q", ["steps", "seed"]) == "it has seed, steps."
    assert nearest("q", []) == "it has none."
