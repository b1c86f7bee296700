"""Fidelity: how true are rehearsed responses to real ones?

Dataset: recorded calls of held-out conversations, real sources among them. Split: held out by
curation. Metric: of each call, the share of the recorded result's top-level fields that the
rehearsed result has with the same value; a call passes when all agree, error or success included.
Pattern: REHEARSE answers each recorded call once, after the recorded conversation so far; the
recorded result itself is not shown, and a call that training has seen is left out. Source: this
project.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from pydantic import Field, JsonValue

from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.report import Report, Trial
from envace.config import Config as BaseConfig
from envace.episode import Call, Message
from envace.errors import BenchmarkError
from envace.inference.policy import seed_for
from envace.rehearsal.act import Budget
from envace.rehearsal.rehearse import RehearsedEnvironment, answered
from envace.strict_json import canonical, dumps, loads
from envace.tasks.task import Task


class Config(BaseConfig):
    """Which recorded calls, and how much may be written."""

    calls: int = Field(default=200, gt=0)
    """Most calls of each source, in the order of a hash of the task id."""
    max_characters: int | None = Field(default=None, gt=0)
    """Longest conversation before a call, with its tools, in characters of JSON; longer calls are
    left out. None is any length."""
    temperature: float = Field(default=0, ge=0)
    """Sampling temperature; 0 is greedy."""
    budget: Budget = Budget()
    """How much the policy may write; its own temperature is not used."""

    @property
    def first_mode(self) -> str:
        """The mode that every policy is run in, by its name in reports."""
        return f"T={self.temperature}" if self.temperature else "greedy"


def build(config: Config, recordings: Recordings, seed: int) -> "Fidelity":
    """The suite over the held-out recordings.

    Raises `BenchmarkError` when they hold no call that training has not seen.
    """
    return Fidelity(config, recordings, seed)


Item = tuple[Task, tuple[Message, ...], Call, str]
"""A task, its conversation up to a call, the call, and the recorded result."""


class Fidelity:
    """Rehearses recorded calls and compares."""

    def __init__(self, config: Config, recordings: Recordings, seed: int) -> None:
        budget = config.budget.model_copy(update={"temperature": config.temperature})
        self._config = config.model_copy(update={"budget": budget})
        self._seed = seed
        seen = {_key(call) for task in recordings.train for _, call, _ in _answered(task)}
        ordered = sorted(recordings.heldout, key=lambda task: seed_for(seed, task.id))
        self._items: list[Item] = []
        for source in sorted({task.source for task in ordered}):
            items = [
                (task, task.conversation[:index], call, result)
                for task in ordered
                if task.source == source
                for index, call, result in _answered(task)
                if _key(call) not in seen and self._fits(task, index)
            ]
            self._items += items[: config.calls]
        if not self._items:
            raise BenchmarkError(
                "no held-out recording has a call that training has not seen; "
                "raise curate.rules.held_out_share or leave the suite fidelity out."
            )

    def _fits(self, task: Task, index: int) -> bool:
        limit = self._config.max_characters
        parts = (*task.tools, *task.conversation[:index])
        return limit is None or sum(len(part.model_dump_json()) for part in parts) <= limit

    def size(self, thorough: bool) -> int:
        """How many calls are rehearsed."""
        return len(self._items)

    def run(
        self, candidate: Candidate, thorough: bool, done: Callable[[], None]
    ) -> tuple[Report, ...]:
        """One report over all calls."""
        trials = asyncio.run(self._trials(candidate, done))
        return (
            Report(
                suite="fidelity",
                policy=candidate.name,
                digest=candidate.digest,
                mode=self._config.first_mode,
                seed=self._seed,
                n_expected=len(self._items),
                trials=trials,
            ),
        )

    async def _trials(self, candidate: Candidate, done: Callable[[], None]) -> tuple[Trial, ...]:
        async def one(number: int, item: Item) -> Trial:
            trial = await self._trial(candidate, number, item)
            done()
            return trial

        return tuple(
            await asyncio.gather(*(one(number, item) for number, item in enumerate(self._items)))
        )

    async def _trial(self, candidate: Candidate, number: int, item: Item) -> Trial:
        task, conversation, call, recorded = item
        began = time.monotonic()
        environment = RehearsedEnvironment(
            candidate.policy, candidate.renderer, self._config.budget, task.tools, seed=self._seed
        )
        seen = await environment.respond(call, conversation)
        turn = seen.turn
        fault = turn.fault if turn else None
        agreed = 0.0 if fault else agreement(loads(recorded), seen.content)
        answer = Message(role="tool", name=call.name, content=dumps(seen.content))
        truth = Message(role="tool", name=f"{call.name} (recorded)", content=recorded)
        return Trial(
            item=f"{task.id}#{number}",
            slice=f"{task.source}/{task.domain}",
            status="pass" if agreed == 1 else "fail",
            score=agreed,
            tokens=turn.tokens if turn else 0,
            seconds=time.monotonic() - began,
            why=str(fault or ""),
            messages=(*conversation, answer, truth),
        )


def agreement(recorded: JsonValue, rehearsed: JsonValue) -> float:
    """Share of the recorded top-level fields that are equal; 0 when just one is an error."""
    if not isinstance(recorded, Mapping) or not isinstance(rehearsed, Mapping):
        return float(canonical(recorded) == canonical(rehearsed))
    if ("error" in recorded) != ("error" in rehearsed) or not recorded:
        return float(canonical(recorded) == canonical(rehearsed))
    same = [
        key in rehearsed and canonical(rehearsed[key]) == canonical(recorded[key])
        for key in recorded
    ]
    return sum(same) / len(same)


def _answered(task: Task) -> list[tuple[int, Call, str]]:
    return answered(task.tools, task.conversation)


def _key(call: Call) -> str:
    """Equal for calls with the same name and arguments."""
    return call.name + canonical(call.arguments)
