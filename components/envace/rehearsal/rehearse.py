"""The REHEARSE role: the same policy plays the tool and produces its response.

The prompt's parts stand in an order that keeps its beginning the same for as long as possible:
instruction, tools, recorded calls of the task, conversation, the call to answer. Each REHEARSE
output is a training sequence of its own.
"""

from collections.abc import Sequence as Items
from dataclasses import dataclass

from envace.episode import (
    Call,
    Fault,
    Message,
    Observation,
    Role,
    Sequence,
    Source,
    Span,
    Tool,
    Turn,
)
from envace.inference.chat import ChatML, signature
from envace.inference.policy import Policy, Request, seed_for
from envace.rehearsal.act import Budget, written
from envace.rehearsal.prompts import prompt
from envace.rehearsal.protocol import check, format_result, parse_rehearse
from envace.strict_json import dumps, loads
from envace.tasks.labels.recorded import is_refusal


@dataclass(frozen=True)
class RehearsedEnvironment:
    """An `Environment` that answers by generation; it holds no reference to any real tool."""

    policy: Policy
    renderer: ChatML
    budget: Budget
    tools: tuple[Tool, ...]
    recorded: tuple[tuple[Call, str], ...] = ()
    """Recorded calls with their results as JSON text; none at test time."""
    seed: int = 0

    async def respond(self, call: Call, conversation: tuple[Message, ...]) -> Observation:
        """Plays the tool of `call`. A malformed response is an observation with a faulty turn."""
        context = opening(self.renderer, self.tools, self.recorded, conversation, call)
        limit = min(self.budget.sequence_tokens - len(context.ids), self.budget.rehearse_tokens)
        if limit <= 0:
            return _fault(Turn(Role.REHEARSE, "", fault=Fault.TOO_LONG))
        seed = seed_for(self.seed, "rehearse", len(conversation), dumps(call.model_dump()))
        done = await self.policy.sample(Request(context.ids, limit, self.budget.temperature, seed))
        sampled = Span(Source.SAMPLED, done.ids, done.logprobs, self.policy.version)
        text = self.renderer.decode(done.ids)
        content = Fault.TRUNCATED if done.finish == "length" else parse_rehearse(text)
        fault = content if isinstance(content, Fault) else None
        reply = "" if fault else dumps(content)
        turn = Turn(
            role=Role.REHEARSE,
            text=text,
            reply=reply,
            fault=fault,
            tokens=len(done.ids),
            sequence=context.extend(sampled),
        )
        return _fault(turn) if fault else Observation(content, turn)


def opening(
    renderer: ChatML,
    tools: Items[Tool],
    recorded: Items[tuple[Call, str]],
    conversation: Items[Message],
    call: Call,
) -> Sequence:
    """The prompt of one REHEARSE output, cue included."""
    system = prompt("rehearse").format(tools="\n".join(map(signature, tools)))
    tool = next(tool for tool in tools if tool.name == call.name)
    asked = prompt("rehearse_call").format(
        examples="\n".join(_example(*pair) for pair in recorded) or "unavailable",
        conversation="\n".join(map(_line, conversation)),
        tool=signature(tool),
        arguments=dumps(call.arguments),
    )
    sequence = Sequence(Role.REHEARSE, renderer.message("system", system, Source.TEMPLATE))
    return sequence.extend(*renderer.message("user", asked, Source.RECORDED), renderer.cue())


def demonstrate(
    renderer: ChatML, tools: Items[Tool], conversation: Items[Message], show_recorded: bool
) -> tuple[Sequence, ...]:
    """One sequence for each recorded call, as REHEARSE would have answered it.

    Calls that the protocol's checks refuse are left out: no policy has to answer them. With
    `show_recorded` the recorded calls stand in the prompt, as they do in training; without, the
    policy has to make the response up, as at test time.
    """
    pairs = tuple(answered(tools, conversation))
    recorded = examples(tools, conversation) if show_recorded else ()
    found: list[Sequence] = []
    for index, call, result in pairs:
        context = opening(renderer, tools, recorded, conversation[:index], call)
        found.append(context.extend(renderer.demonstrate(format_result(loads(result)))))
    return tuple(found)


def examples(tools: Items[Tool], conversation: Items[Message]) -> tuple[tuple[Call, str], ...]:
    """The recorded calls with their results that a REHEARSE prompt shows in training."""
    return tuple((call, result) for _, call, result in answered(tools, conversation))


def answered(tools: Items[Tool], conversation: Items[Message]) -> list[tuple[int, Call, str]]:
    """Each recorded call that its tool answered: (messages before the answer, call, result).

    A call that the protocol's checks refuse is not one: no policy has to make up their answers.
    """
    found: list[tuple[int, Call, str]] = []
    for index, message in enumerate(conversation):
        for offset, call in enumerate(message.calls, start=1):
            answer = conversation[index + offset].content
            if check(call, tools) is None and not is_refusal(loads(answer)):
                found.append((index + offset, call, answer))
    return found


def _fault(turn: Turn) -> Observation:
    return Observation({"error": {"code": str(turn.fault), "message": "no response"}}, turn)


def _example(call: Call, result: str) -> str:
    return f"{call.name} {dumps(call.arguments)} -> {result}"


def _line(message: Message) -> str:
    if message.role == "tool":
        return f"tool: {message.content}"
    return f"{message.role}: {written(message) if message.role == 'assistant' else message.content}"
