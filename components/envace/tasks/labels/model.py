"""Labels and verdicts of a model, beside what rules find: CM2's annotation (arXiv 2602.12268).

One idea: a model's answer is a proposal. It counts only if it holds against the recording; if it
does not after one repair, the task stays as the rules made it.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from envace.episode import Record
from envace.strict_json import canonical
from envace.tasks.labels import endpoint
from envace.tasks.labels.endpoint import Endpoint, Request
from envace.tasks.labels.judged import MAX_TEXT, Fitness, Labels, labelled, problem, unsure
from envace.tasks.labels.questions import Prompt, keep_prompt, label_prompt, repair_prompt
from envace.tasks.labels.verdicts import Verdicts
from envace.tasks.labels.wire import read_json
from envace.tasks.source import Rejected
from envace.tasks.task import Task

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Config(endpoint.Config):
    """What a model is asked; without a `base_url` none is."""

    label: bool = True
    """Add items that only a judge can decide?"""
    keep: bool = False
    """Drop the tasks that the model finds unfit?"""
    judged_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of a turn's score that its judged items get."""


def ignore(task_id: str, reason: str) -> None:
    """Nobody is told."""


async def label(
    tasks: Iterable[Task],
    config: Config,
    verdicts: Path,
    key: str | None = None,
    told: Callable[[str, str], None] = ignore,
) -> AsyncIterator[Task | Rejected]:
    """The tasks in their order, with the model's items, or rejected with its reason.

    `told` hears the id of each task that stays as it is since no answer could be used, and why, as
    `code: detail`. The tasks have passed the rules. Raises `PolicyError` when the endpoint is down
    or the ceiling is reached; what was answered is in `verdicts`, and is not asked again.
    """
    if config.base_url is None:
        for task in tasks:
            yield task
        return
    with Verdicts(verdicts) as kept:
        async with Endpoint(config, key, kept.spent) as model:
            one = _Labeller(config, model, kept, told)
            async with aclosing(_in_order(map(one.label, tasks), 2 * config.concurrency)) as done:
                async for result in done:
                    yield result


@dataclass(frozen=True)
class _Labeller:
    config: Config
    model: Endpoint
    verdicts: Verdicts
    told: Callable[[str, str], None]

    async def label(self, task: Task) -> Task | Rejected:
        """The task as the model leaves it."""
        if self.config.keep:
            fit = await self._asked(keep_prompt(task), Fitness, unsure)
            if isinstance(fit, str):
                self.told(task.id, fit)
            elif not fit.keep:
                reason = f"model_{fit.code}: {fit.detail[:MAX_TEXT]}"
                return Rejected(task.source, task.id, reason)
        if not self.config.label or any(i.check is None for turn in task.checklists for i in turn):
            return task
        labels = await self._asked(label_prompt(task), Labels, lambda found: problem(task, found))
        if isinstance(labels, str):
            self.told(task.id, labels)
            return task
        return labelled(task, labels, self.config.judged_share)

    async def _asked(
        self, prompt: Prompt, kind: type[R], check: Callable[[R], str | None]
    ) -> R | str:
        """The model's answer, repaired once if need be; or why none can be used, `code: detail`."""
        text, failure = await self._answer(prompt, kind)
        found = failure or _read(text, kind, check)
        if failure or not isinstance(found, str):
            return found
        prompt = repair_prompt(prompt, text, found.partition(": ")[2])
        text, failure = await self._answer(prompt, kind)
        return failure or _read(text, kind, check)

    async def _answer(self, prompt: Prompt, kind: type[Record]) -> tuple[str, str | None]:
        """The answer, from the file if it is there; or why there is none."""
        config, schema = self.config, kind.model_json_schema()
        settings = [config.model, config.temperature, config.seed, config.max_tokens]
        key = hashlib.sha256(canonical([prompt, schema, settings]).encode()).hexdigest()
        if (text := self.verdicts.get(key)) is not None:
            return text, None
        answer = await self.model.ask(Request(prompt, kind.__name__.lower(), schema))
        if not answer.problem or answer.cost:
            self.verdicts.add(key, None if answer.problem else answer.text, answer.cost)
        return answer.text, answer.problem


def _read(text: str, kind: type[R], check: Callable[[R], str | None]) -> R | str:
    """The answer if it holds, else why it does not, as `code: detail`."""
    try:
        found = kind.model_validate(read_json(text))
    except ValidationError as error:
        first = error.errors()[0]
        return f"form: {'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
    except ValueError as error:
        return f"not_json: it is no JSON object ({error})"
    return check(found) or found


async def _in_order(jobs: Iterable[Coroutine[Any, Any, T]], ahead: int) -> AsyncGenerator[T]:
    """What the jobs return, in their order; at most `ahead` of them are under way."""
    waiting = deque[asyncio.Task[T]]()
    try:
        for job in jobs:
            waiting.append(asyncio.create_task(job))
            if len(waiting) == ahead:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    except Exception:
        # What was sent is paid for: let it come to an end and be written down.
        await asyncio.gather(*waiting, return_exceptions=True)
        raise
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
