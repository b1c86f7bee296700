"""A conversation with the agent, in whatever reads and writes lines: a terminal, or a test.

One idea: it is the episode loop with a person as the user. Before it answers a line the agent may
rehearse in private; then it acts once, and an `Environment` (a world, or rehearsal) answers its
calls.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from envace.environment import Environment
from envace.episode import Message, Tool
from envace.rehearsal.act import remember
from envace.rollout.agent import Agent
from envace.rollout.play import Round, Scene, Stage
from envace.rollout.private import context_of
from envace.strict_json import dumps


@dataclass(frozen=True)
class Setting:
    """What a conversation takes place in."""

    system: str
    tools: tuple[Tool, ...]
    environment: Environment
    """What answers the agent's calls."""
    attempts: int = 0
    """Private rehearsals before the answer to each line."""
    seed: int = 0


Read = Callable[[], str | None]
"""The next line of the user; None ends the conversation."""
Write = Callable[[str, str], None]
"""Shows who speaks (`agent`, `memory`, `call`, `result` or `fault`) and the text."""


async def chat(agent: Agent, setting: Setting, read: Read, write: Write) -> tuple[Message, ...]:
    """Converses until `read` gives None, and returns the conversation.

    A line whose answer ended in a fault is shown as such and forgotten, so that the next line finds
    a conversation that can go on.
    """
    messages: tuple[Message, ...] = ()
    while (line := read()) is not None:
        if not line.strip():
            continue
        asked = (*messages, Message(role="user", content=line))
        answered = await _answer(agent, setting, asked, write)
        for who, text in _lines(answered.messages[len(asked) :]):
            write(who, text)
        if answered.fault:
            write("fault", answered.fault)
        else:
            messages = answered.messages
    return messages


async def _answer(
    agent: Agent, setting: Setting, asked: tuple[Message, ...], write: Write
) -> Round:
    """Rehearses the last line in private if that is asked for, then plays it once."""
    seed = setting.seed + len(asked)
    context = context_of(agent.actor, setting.system, setting.tools, asked)
    if setting.attempts:
        memory = await agent.rehearse(setting.system, setting.tools, asked, setting.attempts, seed)
        write("memory", memory.text)
        context = remember(agent.actor.renderer, context, memory.text)
    stage = Stage(agent.actor, agent.rules)
    return await Scene(setting.tools, stage, setting.environment, seed).run(asked, context)


def _lines(messages: Iterable[Message]) -> Iterable[tuple[str, str]]:
    for message in messages:
        if message.role == "tool":
            yield "result", message.content
        elif message.content:
            yield "agent", message.content
        for call in message.calls:
            yield "call", f"{call.name} {dumps(dict(call.arguments))}"
