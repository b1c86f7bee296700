"""One episode: ACT and its environment take turns until the policy replies.

    turn = await actor.act(context)
    observation = await environment.respond(call)

Who answers the call is an argument: a rehearsing policy in training and in private, the real thing
in a benchmark and in the committed execution. All state lives in local variables.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from envace.config import Config
from envace.environment import Environment
from envace.episode import Episode, Fault, Message, Observation, Sequence, Step, Tool, Turn
from envace.inference.policy import seed_for
from envace.rehearsal.act import Actor, remember
from envace.rehearsal.protocol import check, refuse
from envace.strict_json import dumps

Rounds = tuple[tuple[Step, ...], ...]


class Rules(Config):
    """When an episode ends."""

    max_steps: int = Field(default=30, gt=0)
    """Most ACT outputs for one user message."""
    max_calls: int = Field(default=20, gt=0)
    """Most calls in one ACT output."""
    on_fault: Literal["end", "tell"] = "end"
    """A malformed output ends the episode (the paper), or is told to the policy, which goes on."""


@dataclass(frozen=True)
class Opening:
    """What an episode starts from."""

    task_id: str
    system: str
    tools: tuple[Tool, ...]
    user_messages: tuple[str, ...]


def always(_: Rounds) -> bool:
    """Every user message follows, whatever the policy did before it."""
    return True


async def nothing(_: tuple[Message, ...]) -> str:
    """Acts without private rehearsal: there is no memory."""
    return ""


@dataclass(frozen=True)
class Stage:
    """What an episode is played with: one of these serves many episodes."""

    actor: Actor
    rules: Rules
    goes_on: Callable[[Rounds], bool] = always
    """May the next user message follow these rounds?"""
    memory: Callable[[tuple[Message, ...]], Awaitable[str]] = nothing
    """What private rehearsal leaves after the conversation so far."""


@dataclass(frozen=True)
class Round:
    """What followed one user message, and how the conversation stands after it."""

    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    context: Sequence
    fault: Fault | None = None


async def play(opening: Opening, stage: Stage, environment: Environment, seed: int) -> Episode:
    """Plays one episode. A fault of the policy is recorded in it; nothing is raised for one."""
    played = Round((), (), stage.actor.open(opening.system, opening.tools))
    rounds: Rounds = ()
    for user in opening.user_messages:
        message = Message(role="user", content=user)
        context = stage.actor.hear(played.context, message)
        messages = (*played.messages, message)
        context = remember(stage.actor.renderer, context, await stage.memory(messages))
        scene = Scene(opening.tools, stage, environment, seed_for(seed, len(rounds)))
        played = await scene.run(messages, context)
        rounds += (played.steps,)
        if played.fault or not stage.goes_on(rounds):
            break
    return Episode(opening.task_id, rounds, played.context, played.messages, played.fault)


@dataclass(frozen=True)
class Scene:
    """Where the steps that follow one user message are played."""

    tools: tuple[Tool, ...]
    stage: Stage
    environment: Environment
    seed: int

    async def run(self, messages: tuple[Message, ...], context: Sequence) -> Round:
        """Alternates ACT and the environment until the policy replies or must stop."""
        steps: tuple[Step, ...] = ()
        for index in range(self.stage.rules.max_steps):
            turn, context = await self.stage.actor.act(context, seed_for(self.seed, index))
            messages += (Message(role="assistant", content=_shown(turn), calls=turn.calls),)
            step = Step(turn, await self._answers(turn, messages))
            steps += (step,)
            for answer in _told(step):
                messages += (answer,)
                context = self.stage.actor.hear(context, answer)
            fault = _fault(step)
            if fault and (self.stage.rules.on_fault == "end" or fault is Fault.TOO_LONG):
                return Round(steps, messages, context, fault)
            if not turn.calls and not turn.fault:
                return Round(steps, messages, context)
        return Round(steps, messages, context, Fault.TOO_MANY_STEPS)

    async def _answers(self, turn: Turn, messages: tuple[Message, ...]) -> tuple[Observation, ...]:
        """The observations of a turn's calls, each seeing the ones before it."""
        if len(turn.calls) > self.stage.rules.max_calls:
            limit = f"at most {self.stage.rules.max_calls} calls at once"
            refusal = refuse("INVALID_TOOL_CALL_FORMAT", "too many calls", [limit])
            return (refusal,) * len(turn.calls)
        seen: tuple[Observation, ...] = ()
        for call in turn.calls:
            so_far = messages + tuple(
                _answer(made.name, one) for made, one in zip(turn.calls, seen, strict=False)
            )
            refusal = check(call, self.tools)
            seen += (refusal or await self.environment.respond(call, so_far),)
        return seen


def _told(step: Step) -> tuple[Message, ...]:
    """The tool messages that answer a step; a malformed output is answered by its error object."""
    if step.act.fault and not step.act.calls:
        what = step.act.detail or str(step.act.fault)
        error = refuse(Fault.INVALID_TOOL_CALL_FORMAT, "the output has a fault", [what])
        return (_answer("", error),)
    pairs = zip(step.act.calls, step.observations, strict=True)
    return tuple(_answer(call.name, seen) for call, seen in pairs)


def _answer(name: str, seen: Observation) -> Message:
    return Message(role="tool", name=name, content=dumps(seen.content))


def _shown(turn: Turn) -> str:
    return turn.text if turn.fault else turn.reply


def _fault(step: Step) -> Fault | None:
    """The first fault of a step, of the ACT output or of a rehearsed response."""
    rehearsed = [seen.turn.fault for seen in step.observations if seen.turn and seen.turn.fault]
    return step.act.fault or (rehearsed[0] if rehearsed else None)
