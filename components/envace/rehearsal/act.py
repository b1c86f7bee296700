"""The ACT role: the policy replies or calls tools, and its whole episode is one token sequence.

An `Actor` is a policy with a renderer and a budget. It holds no conversation: sequences go in and
come out longer.
"""

from collections.abc import Sequence as Items
from dataclasses import dataclass

from pydantic import Field

from envace.config import Config
from envace.episode import Fault, Message, Role, Sequence, Source, Span, Tool, Turn
from envace.inference.chat import ChatML, signature
from envace.inference.policy import Policy, Request
from envace.rehearsal.prompts import prompt
from envace.rehearsal.protocol import check, format_calls, parse_act
from envace.strict_json import loads
from envace.tasks.labels.recorded import is_refusal


class Budget(Config):
    """How much the policy may write, in tokens."""

    act_tokens: int = Field(default=8000, gt=0)
    """Upper limit of one ACT output, tokens."""
    rehearse_tokens: int = Field(default=8000, gt=0)
    """Upper limit of one REHEARSE output, tokens."""
    sequence_tokens: int = Field(default=20000, gt=0)
    """Upper limit of a whole prompt with its output, tokens; a longer episode ends with a fault."""
    temperature: float = Field(default=1.0, ge=0)
    """Sampling temperature of both roles; 0 is greedy."""
    private_temperature: float = Field(default=0.7, gt=0)
    """Sampling temperature of private rehearsal, where greedy attempts would all be the same."""


@dataclass(frozen=True)
class Actor:
    """The policy in its ACT role."""

    policy: Policy
    renderer: ChatML
    budget: Budget

    def open(self, system: str, tools: Items[Tool]) -> Sequence:
        """The sequence that an episode starts from."""
        return opening(self.renderer, system, tools)

    def hear(self, context: Sequence, message: Message) -> Sequence:
        """`context` with a message that somebody else wrote."""
        return hear(self.renderer, context, message)

    async def act(self, context: Sequence, seed: int) -> tuple[Turn, Sequence]:
        """Samples one ACT output after `context`; the turn as read, and the longer sequence."""
        cued = context.extend(self.renderer.cue())
        room = self.budget.sequence_tokens - len(cued.ids)
        if room <= 0:
            return Turn(Role.ACT, "", fault=Fault.TOO_LONG), context
        limit = min(room, self.budget.act_tokens)
        request = Request(cued.ids, limit, self.budget.temperature, seed)
        done = await self.policy.sample(request)
        sampled = Span(Source.SAMPLED, done.ids, done.logprobs, self.policy.version)
        longer = cued.extend(sampled, self.renderer.close(done.ids))
        return read(self.renderer.decode(done.ids), len(done.ids), done.finish == "length"), longer


def read(text: str, tokens: int, cut: bool) -> Turn:
    """An ACT output as a turn; one that was cut off by its limit is a fault, whatever it says."""
    act = parse_act(text)
    fault = Fault.TRUNCATED if cut else act.fault
    detail = "it is longer than its limit" if cut else act.detail
    return Turn(Role.ACT, text, () if fault else act.calls, act.reply, fault, tokens, detail)


def opening(renderer: ChatML, system: str, tools: Items[Tool]) -> Sequence:
    """The system message of the ACT role: policy text and tools."""
    text = prompt("act").format(policy=system, tools="\n".join(map(signature, tools)))
    return Sequence(Role.ACT, renderer.message("system", text, Source.TEMPLATE))


def remember(renderer: ChatML, context: Sequence, memory: str) -> Sequence:
    """`context` with what private rehearsal left, said right after the user's message."""
    if not memory:
        return context
    text = prompt("act_memory").format(memory=memory)
    return context.extend(*renderer.message("system", text, Source.RECORDED))


def hear(renderer: ChatML, context: Sequence, message: Message) -> Sequence:
    """`context` with a message that the policy did not write (user, tool, or recorded reply)."""
    if message.role == "assistant":
        text = written(message)
        return context.extend(*renderer.message("assistant", text, Source.RECORDED))
    source = Source.TOOL if message.role == "tool" else Source.RECORDED
    return context.extend(*renderer.message(message.role, message.content, source))


def written(message: Message) -> str:
    """An assistant message as the ACT role writes it."""
    return "\n".join(part for part in (message.content, format_calls(message.calls)) if part)


def demonstrate(
    renderer: ChatML, system: str, tools: Items[Tool], conversation: Items[Message]
) -> Sequence:
    """A recorded conversation as ACT would have produced it: what the warm start imitates.

    A call that the protocol's checks refuse is shown but not imitated; its repair is.
    """
    context = opening(renderer, system, tools)
    for index, message in enumerate(conversation):
        if message.role != "assistant" or _refused(tools, conversation, index):
            context = hear(renderer, context, message)
            continue
        output = renderer.demonstrate(written(message))
        context = context.extend(renderer.cue(), output, renderer.close(output.ids))
    return context


def _refused(tools: Items[Tool], conversation: Items[Message], index: int) -> bool:
    calls = conversation[index].calls
    answers = conversation[index + 1 : index + 1 + len(calls)]
    return any(check(call, tools) for call in calls) or any(
        is_refusal(loads(answer.content)) for answer in answers
    )
