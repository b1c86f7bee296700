"""Fidelity: how true are rehearsed responses to real ones?

Dataset: recorded calls of held-out conversations, real sources among them. Split: held out by
curation. Metric: of each call, the share of the recorded result's top-level fields that the
rehearsed result has with the same value; a call passes when all agree, error or success included.
Pattern: REHEARSE answers each recorded call once, greedily, after the recorded conversation so
far; the recorded result itself is not shown. Source: this project.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field, JsonValue

from envace.benchmarks.benchmark import Candidate
from envace.benchmarks.report import Report, Trial
from envace.config import Config as BaseConfig
from envace.episode import Call, Message
from envace.inference.policy import seed_for
from envace.rehearsal.act import Budget
from envace.rehearsal.protocol import check, is_refusal
from envace.rehearsal.rehearse import RehearsedEnvironment
from envace.strict_json import dumps, loads
from envace.tasks.task import Task


class Config(BaseConfig):
    """Which recorded calls, and how much may be written."""

    calls: int = Field(default=200, gt=0)
    """Most calls of each source, in the order of a hash of the task id."""
    budget: Budget = Budget(temperature=0)
    """Of each rehearsed response; greedy by default."""


def build(config: Config, heldout: Sequence[Task], seed: int) -> "Fidelity":
    """The suite over the held-out recordings."""
    return Fidelity(config, heldout, seed)


Item = tuple[Task, tuple[Message, ...], Call, str]
"""A task, its conversation up to a call, the call, and the recorded result."""


class Fidelity:
    """Rehearses recorded calls and compares."""

    def __init__(self, config: Config, heldout: Sequence[Task], seed: int) -> None:
        self._config = config
        self._seed = seed
        ordered = sorted(heldout, key=lambda task: seed_for(seed, task.id))
        sources = sorted({task.source for task in ordered})
        self._items = [
            item
            for source in sources
            for item in _items(task for task in ordered if task.source == source)[: config.calls]
        ]

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
                mode="greedy",
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
        return float(recorded == rehearsed)
    if ("error" in recorded) != ("error" in rehearsed) or not recorded:
        return float(recorded == rehearsed)
    same = [key in rehearsed and rehearsed[key] == recorded[key] for key in recorded]
    return sum(same) / len(same)


def _items(tasks: Iterable[Task]) -> list[Item]:
    """Every recorded call that its tool answered, in order."""
    found: list[Item] = []
    for task in tasks:
        for index, message in enumerate(task.conversation):
            for offset, call in enumerate(message.calls, start=1):
                recorded = task.conversation[index + offset].content
                if check(call, task.tools) is None and not is_refusal(loads(recorded)):
                    found.append((task, task.conversation[: index + offset], call, recorded))
    return found
