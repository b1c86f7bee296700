"""params.yaml, composed from the components' own configs. Nothing else reads that file.

Every name and every value is checked when it is loaded, so a typo stops the first stage, not the
fifth. The file is read as DVC reads it, so what DVC hashes is what runs.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from envace.config import Config
from envace.grpo.settings import Settings as Update
from envace.inference.backends.hf import Config as Engine
from envace.plugins import Plugin, plugin_of
from envace.registry.gate import Rules as GateRules
from envace.rehearsal.act import Budget
from envace.rollout.play import Rules as PlayRules
from envace.tasks.curate import Config as Curation
from envace.training.schedule import Schedule, WarmSchedule
from pipelines.yaml12 import read_yaml

PARAMS = Path("params.yaml")

Base = Annotated[Plugin, plugin_of("envace.training.bases")]
Source = Annotated[Plugin, plugin_of("envace.tasks.sources")]
Advantage = Annotated[Plugin, plugin_of("envace.grpo.advantages")]
RewardName = Annotated[Plugin, plugin_of("envace.rewards")]
Suite = Annotated[Plugin, plugin_of("envace.benchmarks.suites")]


class Policy(Config):
    """The model that plays both roles."""

    base: Base
    """Where its first weights come from."""
    engine: Engine = Engine()
    """How it is run in this process."""


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


class Register(Config):
    """The model registry."""

    name: str = "envace"
    """Name of the registered model."""


class Evaluate(Config):
    """The benchmarks."""

    suites: tuple[Suite, ...] = Field(min_length=1)
    """Run in this order on the base policy, the warm start, the trained policy and the champion."""


class Promote(Config):
    """The gate."""

    suite: str = "worlds"
    """Suite whose outcomes decide."""
    mode: str = "N=0"
    """Its mode."""
    rules: GateRules = GateRules()
    """What a candidate must show."""


class Serve(Config):
    """Serving of the promoted policy."""

    alias: str = "champion"
    """The registry alias that is served."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8000
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

    profile: str
    """Its name."""
    seed: int
    """Decides every random choice of every stage."""
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


def load(path: Path = PARAMS) -> Params:
    """The parameters in `path`. Raises `ConfigError` naming the first bad key."""
    return Params.read(read_yaml(path), str(path))


def plain(config: Config) -> dict[str, Any]:
    """A config as plain values, for records and hashes."""
    return config.model_dump(mode="json", by_alias=True)
