"""The policy in this process, on transformers: what trains is what samples.

Requests that are waiting at the same time are answered together. The order of a batch depends on
the prompts alone and each request draws from its own seed, so an episode's samples do not depend
on what runs beside it (up to the rounding of a batched matrix product).
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from envace.config import Config as BaseConfig
from envace.inference.policy import Completion, Request

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Config(BaseConfig):
    """Parameters of the in-process engine."""

    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Number format of the weights in memory. Training in bfloat16 loses small updates."""
    max_batch: int = Field(default=32, gt=0)
    """Most requests decoded together."""
    device: str = Field(default="cpu", pattern=r"^(cpu|cuda|mps|xpu)(:\d+)?$")
    """Torch device that holds the model."""


class HfPolicy:
    """A transformers model behind the `Policy` protocol."""

    def __init__(self, model: "PreTrainedModel", stop: int, max_batch: int, version: str) -> None:
        self.model = model
        self.version = version
        self._stop = stop
        self._max_batch = max_batch
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def sample(self, request: Request) -> Completion:
        """Waits for the batch that answers `request`."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._answer())
        return await future

    async def _answer(self) -> None:
        while self._waiting:
            await self._settle()
            taken = [pair for pair in self._waiting if not pair[1].done()]
            self._waiting = []
            work = asyncio.to_thread(self._generate, [request for request, _ in taken])
            (done,) = await asyncio.gather(work, return_exceptions=True)
            for place, (_, future) in enumerate(taken):
                if future.done():
                    continue
                if isinstance(done, BaseException):
                    future.set_exception(done)
                else:
                    future.set_result(done[place])

    async def _settle(self) -> None:
        """Returns once every task that can run has run, so that nobody's request is missed."""
        seen = -1
        while seen != len(self._waiting):
            seen = len(self._waiting)
            for _ in range(4):
                await asyncio.sleep(0)

    def _generate(self, requests: list[Request]) -> list[Completion]:
        from envace.inference.backends._hf_generate import generate

        done: list[Completion] = []
        order = sorted(range(len(requests)), key=lambda index: requests[index].prompt)
        for first in range(0, len(order), self._max_batch):
            batch = [requests[index] for index in order[first : first + self._max_batch]]
            done += generate(self.model, batch, self._stop)
        answers = dict(zip(order, done, strict=True))
        return [answers[index] for index in range(len(requests))]


def build(config: Config, folder: Path, stop: int, version: str = "") -> HfPolicy:
    """Loads the model folder. Raises `PolicyError` when there is no model in it."""
    from envace.inference.backends._hf_generate import load

    model = load(folder, config.dtype, config.device)
    return HfPolicy(model, stop, config.max_batch, version or folder.name)
