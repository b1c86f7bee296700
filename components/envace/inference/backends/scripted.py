"""A policy that answers from a function of the prompt's text: for tests and for recorded traces.

It is a real implementation of the protocol: prompts and answers are token ids of a real renderer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from envace.config import Config as BaseConfig
from envace.inference.chat import ChatML
from envace.inference.policy import Completion, Request


class Config(BaseConfig):
    """A script has no parameters."""


@dataclass(frozen=True)
class ScriptedPolicy:
    """Answers each request with `script(prompt text)`; every token has log-probability 0."""

    renderer: ChatML
    script: Callable[[str], str]
    version: str = "scripted"

    async def sample(self, request: Request) -> Completion:
        """The script's answer, cut at the request's limit."""
        text = self.script(self.renderer.decode(request.prompt))
        ids = (*self.renderer.encode(text), self.renderer.stop)
        kept = ids[: request.max_tokens]
        finish = "stop" if len(kept) == len(ids) else "length"
        return Completion(kept, (0.0,) * len(kept), finish)


def build(config: Config, renderer: ChatML, script: Callable[[str], str]) -> ScriptedPolicy:
    """A policy that follows `script`."""
    return ScriptedPolicy(renderer, script)
