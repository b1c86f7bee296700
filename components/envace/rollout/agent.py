"""An agent answers one step of a conversation that its client keeps: what serving serves."""

from dataclasses import dataclass

from envace.episode import Message, Tool, Turn
from envace.rehearsal.act import Actor, remember
from envace.rollout.play import Rules
from envace.rollout.private import Memory, Rehearsal, context_of


@dataclass(frozen=True)
class Agent:
    """A policy that may rehearse before it acts. The client executes the calls it makes."""

    actor: Actor
    rules: Rules

    async def rehearse(
        self,
        system: str,
        tools: tuple[Tool, ...],
        messages: tuple[Message, ...],
        attempts: int,
        seed: int = 0,
    ) -> Memory:
        """Rehearses the last user message in private; calls made after it are played again."""
        last = max(index for index, message in enumerate(messages) if message.role == "user")
        rehearsal = Rehearsal(self.actor, self.rules, system, tools, attempts, seed)
        return await rehearsal.memory(messages[: last + 1])

    async def act(
        self,
        system: str,
        tools: tuple[Tool, ...],
        messages: tuple[Message, ...],
        memory: str = "",
        seed: int = 0,
    ) -> Turn:
        """The next ACT output after `messages`, conditioned on the memory of the current turn."""
        last = max(index for index, message in enumerate(messages) if message.role == "user")
        context = context_of(self.actor, system, tools, messages[: last + 1])
        context = remember(self.actor.renderer, context, memory)
        for message in messages[last + 1 :]:
            context = self.actor.hear(context, message)
        turn, _ = await self.actor.act(context, seed)
        return turn
