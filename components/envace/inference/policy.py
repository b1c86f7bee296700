"""A policy: token ids in, token ids and their log-probabilities out.

Nothing in this protocol is text, so that what is sampled, what is scored and what is trained are
the same ids. A policy answers both roles; the prompt says which.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Request:
    """One generation to make."""

    prompt: tuple[int, ...]
    max_tokens: int
    """Upper limit on sampled tokens."""
    temperature: float = 1.0
    """0 is greedy; log-probabilities are those of the distribution that was sampled from."""
    seed: int = 0
    """Decides this request's samples, whatever else runs beside it."""


@dataclass(frozen=True)
class Completion:
    """What was sampled for a request."""

    ids: tuple[int, ...]
    """Sampled ids, the stop id included when one was sampled."""
    logprobs: tuple[float, ...]
    """Log-probability of each id (nats)."""
    finish: Literal["stop", "length"]


class Policy(Protocol):
    """Whatever samples: an in-process model, a server, a script."""

    @property
    def version(self) -> str:
        """Names the weights that answer; changes with every update."""
        ...

    async def sample(self, request: Request) -> Completion:
        """Samples one completion. Raises `PolicyError` when the engine cannot answer."""
        ...


def seed_for(*parts: object) -> int:
    """A 63-bit seed that depends on all parts and on nothing else, the same on every machine."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1
