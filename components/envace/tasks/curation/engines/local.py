"""Engine: the processes of this machine."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from pydantic import Field

from envace import config
from envace.errors import TaskError

J = TypeVar("J")
R = TypeVar("R")


class Config(config.Config):
    """How many processes there are."""

    workers: int = Field(default=0, ge=0)
    """Processes; 0: one a core that this process may use."""


def build(config: Config) -> "Local":
    """The engine."""
    return Local(config.workers or len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Local:
    """A pool of processes; a single job or a single process needs none."""

    workers: int

    def run(self, work: Callable[[J], R], jobs: Sequence[J]) -> Iterator[R]:
        """Does `work` for each job; see `envace.tasks.curation.curate.Engine`."""
        workers = min(self.workers, len(jobs))
        if workers < 2:
            yield from map(work, jobs)
            return
        # Forking would copy the locks that threads of this process may hold.
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        try:
            yield from pool.map(work, jobs)
        except BrokenProcessPool:
            raise TaskError(
                "a process that examines tasks was killed, perhaps for lack of memory; run it "
                "again, with fewer curate.rules.engine.workers."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
