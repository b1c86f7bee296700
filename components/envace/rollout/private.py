"""Test-time rehearsal: N private attempts, one memory, then a single committed execution.

Each attempt plays the current user message to its end on rehearsed responses. The attempts' plans
are compared, and the plan that most of them share becomes the memory. An attempt is played against
a `RehearsedEnvironment` that is made here: nothing in this module can hold a real environment.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

from envace.episode import Call, Message, Sequence, Tool
from envace.inference.policy import seed_for
from envace.rehearsal.act import Actor
from envace.rehearsal.protocol import format_calls
from envace.rehearsal.rehearse import RehearsedEnvironment
from envace.rollout.play import Round, Rules, Scene, Stage
from envace.strict_json import dumps


@dataclass(frozen=True)
class Memory:
    """What N attempts left behind."""

    text: str = ""
    """A JSON object {recommendation, rationale}; empty when there is nothing to recommend."""
    attempts: tuple[tuple[Message, ...], ...] = ()
    """The conversation of each attempt from the last user message on."""
    tokens: int = 0
    """Tokens sampled in all attempts, both roles."""


@dataclass(frozen=True)
class Rehearsal:
    """Where private attempts are played: a policy, its tools, and no way out."""

    actor: Actor
    rules: Rules
    system: str
    tools: tuple[Tool, ...]
    attempts: int
    """N, attempts in parallel; 0 rehearses nothing."""
    seed: int

    async def memory(self, messages: tuple[Message, ...]) -> Memory:
        """Rehearses the user message that ends `messages` N times and sums up."""
        if not self.attempts:
            return Memory()
        context = context_of(self.actor, self.system, self.tools, messages)
        rounds = await asyncio.gather(
            *(self._attempt(messages, context, number) for number in range(self.attempts))
        )
        return summarise(rounds, start=len(messages))

    async def _attempt(
        self, messages: tuple[Message, ...], context: Sequence, number: int
    ) -> Round:
        seed = seed_for(self.seed, "attempt", len(messages), number)
        hot = {"temperature": self.actor.budget.private_temperature}
        actor = replace(self.actor, budget=self.actor.budget.model_copy(update=hot))
        environment = RehearsedEnvironment(
            actor.policy, actor.renderer, actor.budget, self.tools, seed=seed
        )
        scene = Scene(self.tools, Stage(actor, self.rules), environment, seed)
        return await scene.run(messages, context)


def context_of(
    actor: Actor, system: str, tools: tuple[Tool, ...], messages: tuple[Message, ...]
) -> Sequence:
    """The ACT sequence of a conversation that somebody else kept."""
    context = actor.open(system, tools)
    for message in messages:
        context = actor.hear(context, message)
    return context


def summarise(rounds: list[Round], start: int) -> Memory:
    """The plan that most sound attempts share (the first of them wins a tie), as a memory."""
    tokens = sum(_tokens(round_) for round_ in rounds)
    told = tuple(round_.messages[start - 1 :] for round_ in rounds)
    plans = [format_calls(_plan(round_)) for round_ in rounds if not round_.fault]
    if not plans:
        return Memory("", told, tokens)
    plan, votes = Counter(plans).most_common(1)[0]
    advice = {
        "recommendation": plan or "reply without a call",
        "rationale": f"{votes} of {len(rounds)} rehearsals went this way",
    }
    return Memory(dumps(advice), told, tokens)


def _plan(round_: Round) -> list[Call]:
    """The calls of an attempt that were not refused, in order."""
    return [
        call
        for step in round_.steps
        for call, seen in zip(step.act.calls, step.observations, strict=True)
        if seen.code is None
    ]


def _tokens(round_: Round) -> int:
    acted = sum(step.act.tokens for step in round_.steps)
    seen = [one.turn for step in round_.steps for one in step.observations]
    return acted + sum(turn.tokens for turn in seen if turn)
