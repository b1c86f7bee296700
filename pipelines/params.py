"""params.yaml, composed from the components' own configs. Nothing else reads that file.

Every name and every value is checked when it is loaded, so a typo stops the first stage, not the
fifth; so is what must agree between sections. The file is read as DVC reads it, so what DVC hashes
is what runs.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from envace.config import Config, nearest
from envace.errors import ConfigError
from envace.grpo.settings import Settings as Update
from envace.inference.backends.hf import Config as Engine
from envace.plugins import Plugin, names, plugin_of
from envace.registry.gate import Rules as GateRules
from envace.rehearsal.act import Budget
from envace.rollout.play import Rules as PlayRules
from envace.tasks.checks.rules import by_name
from envace.tasks.curation.config import Config as Curation
from envace.training.abort import Limits
from envace.training.schedule import Schedule, WarmSchedule
from envace.training.shape import Shape
from envace.worlds.world import TIERS
from pipelines.yaml12 import read_yaml

PARAMS = Path("params.yaml")

Base = Annotated[Plugin, plugin_of("envace.training.bases")]
Source = Annotated[Plugin, plugin_of("envace.tasks.sources")]
Advantage = Annotated[Plugin, plugin_of("envace.grpo.advantages")]
RewardName = Annotated[Plugin, plugin_of("envace.rewards")]
Suite = Annotated[Plugin, plugin_of("envace.benchmarks.suites")]
Word = Annotated[str, Field(pattern=r"^[\w.-]+$")]


class Policy(Config):
    """The model that plays both roles."""

    base: Base
    """Where its first weights come from."""
    engine: Engine = Engine()
    """How it is run in this process."""
    shape: Shape | None = None
    """Its size, as its config.json has it, so that a run can be planned before it is fetched."""


class Curate(Config):
    """From sources to tasks."""

    sources: tuple[Source, ...] = Field(min_length=1)
    """Data sets, read in this order."""
    rules: Curation = Curation()
    """What is kept and what is held out."""


class WarmStart(Config):
    """Imitation of the recordings."""

    schedule: WarmSchedule = WarmSchedule()
    """How much is imitated."""
    update: Update = Update()
    """How a batch becomes an update."""


class Train(Config):
    """Role-wise GRPO."""

    schedule: Schedule = Schedule()
    """How much is trained."""
    advantage: Advantage
    """The estimator of advantages."""
    reward: RewardName
    """What scores an episode."""
    budget: Budget = Budget()
    """How much the policy may write."""
    rules: PlayRules = PlayRules()
    """When an episode ends."""
    update: Update = Update()
    """How a batch becomes an update."""
    abort: Limits = Limits()
    """When the run is stopped because it goes wrong."""


class Register(Config):
    """The model registry."""

    name: Word = "envace"
    """Name of the registered model; letters, digits, '.', '_' and '-'."""


class Evaluate(Config):
    """The benchmarks."""

    suites: tuple[Suite, ...] = Field(min_length=1)
    """Run in this order on the base policy, the warm start, the trained policy and the champion."""


class Promote(Config):
    """The gate."""

    suite: str = "worlds"
    """Suite whose outcomes decide: one of evaluate.suites."""
    mode: str = "N=0"
    """Its mode: the one that every policy is run in."""
    rules: GateRules = GateRules()
    """What a candidate must show."""


class Serve(Config):
    """Serving of the promoted policy."""

    alias: Word = "champion"
    """The registry alias that is served."""
    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on."""
    port: int = Field(default=8000, ge=1, le=65535)
    """Port to listen on."""
    attempts: int = Field(default=0, ge=0)
    """Private rehearsals of each user message in `envace chat`; a request says its own N."""
    world: str = "retail"
    """The world that answers the calls in `envace chat`."""
    budget: Budget = Budget()
    """How much the policy may write."""
    rules: PlayRules = PlayRules()
    """When a private rehearsal ends."""


class Params(Config):
    """A whole profile."""

    profile: str = Field(min_length=1)
    """Its name."""
    seed: int
    """Decides what training and evaluation draw at random. Sources, the held-out split and random
    first weights have seeds of their own, so that another `seed` is another run on the same data.
    """
    policy: Policy
    """The model."""
    curate: Curate
    """Parameters of the stage of this name."""
    warmstart: WarmStart
    """Parameters of the stage of this name."""
    train: Train
    """Parameters of the stage of this name."""
    register_: Register = Field(alias="register")
    """Parameters of the stage `register`."""
    evaluate: Evaluate
    """Parameters of the stage of this name."""
    promote: Promote
    """Parameters of the stage of this name."""
    serve: Serve
    """Parameters of `envace serve` and `envace chat`."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Checks the names and values that only several sections together can tell."""
        worlds = names("envace.worlds")
        _known("serve.world", [self.serve.world], worlds)
        for plugin in self.evaluate.suites:
            _known(f"{plugin.name}.domains", getattr(plugin.config, "domains", ()), worlds)
            _known(f"{plugin.name}.tiers", getattr(plugin.config, "tiers", ()), TIERS)
        by_name(self.curate.rules.skip)
        shares = self.curate.rules.held_out_share
        sources = {source.name for source in self.curate.sources}
        _known("held_out_share", shares if isinstance(shares, Mapping) else (), sources)
        if not self.train.budget.temperature:
            raise ConfigError("train.budget.temperature is 0, expected more; at 0 all are alike.")
        if self.train.schedule.episodes_per_task == 1:
            raise ConfigError(
                "train.schedule.episodes_per_task is 1, expected 2 or more; a lone episode has "
                "nothing to be compared with, so nothing would be learned."
            )
        self._gate()
        return self

    def _gate(self) -> None:
        """Promotion compares in a mode that every policy is run in: the first of its suite."""
        suite, mode = self.promote.suite, self.promote.mode
        _known("promote.suite", [suite], {each.name for each in self.evaluate.suites})
        configs = [each.config for each in self.evaluate.suites if each.name == suite]
        modes = [found for each in configs if (found := getattr(each, "first_mode", None))]
        if modes and mode not in modes:
            raise ConfigError(
                f"promote.mode is '{mode}', but {suite} runs every policy in '{modes[0]}' only; "
                f"write '{modes[0]}'."
            )


def _known(where: str, values: Iterable[str], known: Collection[str]) -> None:
    """Refuses a value that is not among the known ones, naming the nearest."""
    for value in values:
        if value not in known:
            raise ConfigError(f"{where}: there is no '{value}'; {nearest(value, known)}")


def load(path: Path = PARAMS) -> Params:
    """The parameters in `path`. Raises `ConfigError` naming the first bad key."""
    return Params.read(read_yaml(path), str(path))


def plain(config: Config) -> dict[str, Any]:
    """A config as plain values, for records and hashes."""
    return config.model_dump(mode="json", by_alias=True)
