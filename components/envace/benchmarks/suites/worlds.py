"""Worlds: the agent acts in executable worlds that training never saw.

Dataset: seeded scenarios of `envace.worlds`. Split: held-out seeds of every domain, among them the
held-out domain. Metric: success = the final state is the goal state, the replies hold the facts,
and the look-ups and the refused calls that they rest on were really made.
Pattern: one committed episode a scenario, after N private rehearsals of each user message.
Source: this project.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import Field

from envace import plugins
from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.report import Report, Trial
from envace.config import Config as BaseConfig
from envace.episode import Episode, Message
from envace.errors import PolicyError
from envace.inference.policy import seed_for
from envace.rehearsal.act import Actor, Budget
from envace.rollout.play import Opening, Rules, Stage, play
from envace.rollout.private import Rehearsal
from envace.worlds.world import HELD_OUT_SEED, TIERS, Scenario, World, WorldEnvironment, succeeded


class Config(BaseConfig):
    """Which scenarios, and how the agent may answer."""

    domains: tuple[str, ...] = ("calendar", "retail", "airline")
    """Worlds, by name."""
    tiers: tuple[str, ...] = TIERS
    """Tiers of difficulty, by name."""
    scenarios: int = Field(default=8, gt=0)
    """Scenarios a domain and tier."""
    rehearsed_scenarios: int | None = Field(default=None, gt=0)
    """Of these, how many are run with private rehearsal, which takes a multiple of the time; None
    is all."""
    attempts: tuple[int, ...] = Field(default=(0, 2), min_length=1)
    """Private rehearsals of each user message, one mode each; 0 acts at once. The trained policy
    is run in every mode, the others in the first."""
    temperature: float = Field(default=0, ge=0)
    """Sampling temperature of the committed episode; 0 is greedy."""
    budget: Budget = Budget()
    """How much the policy may write; its own temperature is not used."""
    rules: Rules = Rules()
    """When an episode ends."""

    def mode(self, attempts: int) -> str:
        """The name of a mode in reports."""
        return f"N={attempts}" + (f" T={self.temperature}" if self.temperature else "")

    @property
    def first_mode(self) -> str:
        """The mode that every policy is run in."""
        return self.mode(self.attempts[0])


def build(config: Config, recordings: Recordings, seed: int) -> "Worlds":
    """The suite; its scenarios are its own, not recordings."""
    return Worlds(config, seed)


Item = tuple[World, Scenario]


class Worlds:
    """Runs held-out scenarios."""

    def __init__(self, config: Config, seed: int) -> None:
        self._config = config
        self._seed = seed
        worlds: list[World] = [
            plugins.choose("envace.worlds", domain).build() for domain in config.domains
        ]
        self._items: list[Item] = [
            (world, world.scenario(HELD_OUT_SEED + number, tier))
            for world in worlds
            for tier in config.tiers
            for number in range(config.scenarios)
        ]

    def size(self, thorough: bool) -> int:
        """Trials of a run."""
        return sum(len(self._chosen(attempts)) for attempts in self._modes(thorough))

    def _chosen(self, attempts: int) -> list[Item]:
        """The items of a mode."""
        kept = self._config.rehearsed_scenarios if attempts else None
        limit = HELD_OUT_SEED + (self._config.scenarios if kept is None else kept)
        return [(world, scenario) for world, scenario in self._items if scenario.seed < limit]

    def _modes(self, thorough: bool) -> tuple[int, ...]:
        return self._config.attempts if thorough else self._config.attempts[:1]

    def run(
        self, candidate: Candidate, thorough: bool, done: Callable[[], None]
    ) -> tuple[Report, ...]:
        """One report for each number of private rehearsals; all modes are played side by side."""
        return asyncio.run(self._reports(candidate, self._modes(thorough), done))

    async def _reports(
        self, candidate: Candidate, modes: tuple[int, ...], done: Callable[[], None]
    ) -> tuple[Report, ...]:
        async def one(attempts: int) -> Report:
            trials = await self._trials(candidate, attempts, done)
            return Report(
                suite="worlds",
                policy=candidate.name,
                digest=candidate.digest,
                mode=self._config.mode(attempts),
                seed=self._seed,
                n_expected=len(self._chosen(attempts)),
                trials=trials,
            )

        return tuple(await asyncio.gather(*map(one, modes)))

    async def _trials(
        self, candidate: Candidate, attempts: int, done: Callable[[], None]
    ) -> tuple[Trial, ...]:
        async def one(item: Item) -> Trial:
            trial = await self._trial(candidate, *item, attempts)
            done()
            return trial

        return tuple(await asyncio.gather(*map(one, self._chosen(attempts))))

    async def _trial(
        self, candidate: Candidate, world: World, scenario: Scenario, attempts: int
    ) -> Trial:
        where = f"{scenario.domain}/{scenario.tier}"
        try:
            return await self._played(candidate, world, scenario, attempts)
        except PolicyError as error:  # the engine could not answer: that says nothing of the policy
            return Trial(item=scenario.id, slice=where, status="infra", score=0, why=str(error))

    async def _played(
        self, candidate: Candidate, world: World, scenario: Scenario, attempts: int
    ) -> Trial:
        began, config = time.monotonic(), self._config
        seed = seed_for(self._seed, scenario.id, attempts)
        budget = config.budget.model_copy(update={"temperature": config.temperature})
        actor = Actor(candidate.policy, candidate.renderer, budget)
        rehearsal = Rehearsal(actor, config.rules, world.system, world.tools, attempts, seed)
        notes = _Notes(rehearsal)
        environment = WorldEnvironment(world, scenario.state)
        opening = Opening(scenario.id, world.system, world.tools, scenario.user_messages)
        stage = Stage(actor, config.rules, memory=notes.make)
        episode = await play(opening, stage, environment, seed)
        passed, why = succeeded(scenario, environment.state, episode.messages)
        passed = passed and episode.fault is None
        return Trial(
            item=scenario.id,
            slice=f"{scenario.domain}/{scenario.tier}",
            status="pass" if passed else "fail",
            score=float(passed),
            tokens=_tokens(episode) + notes.tokens,
            seconds=time.monotonic() - began,
            why=why if episode.fault is None else f"{episode.fault}: {why}",
            messages=episode.messages,
            memory="\n".join(notes.texts),
        )


@dataclass
class _Notes:
    """The memories of one trial, kept for its record."""

    rehearsal: Rehearsal
    texts: list[str] = field(default_factory=list[str])
    tokens: int = 0

    async def make(self, messages: tuple[Message, ...]) -> str:
        memory = await self.rehearsal.memory(messages)
        self.texts += [memory.text] if memory.text else []
        self.tokens += memory.tokens
        return memory.text


def _tokens(episode: Episode) -> int:
    return sum(turn.tokens for turn in episode.turns)
