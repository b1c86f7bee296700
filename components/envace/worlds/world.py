"""A world: one table of rows, tools that read and change it, rules that refuse, seeded scenarios.

One idea: nothing is mutated. `execute` maps (state, call) to (next state, result), so a state is a
plain value that can be compared: a scenario is won when the final state is its goal state, the
replies hold the expected facts, and the calls that leave no trace in the state, look-ups and
refused ones, were made all the same. A refusal is a result like any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from jsonschema import Draft202012Validator
from pydantic import JsonValue

from envace.episode import Call, Message, Observation, Tool
from envace.errors import WorldError
from envace.strict_json import dumps

HELD_OUT_SEED = 1_000_000
"""Scenarios from this seed on are for evaluation; no recording is made of them."""

TIERS = ("one_call", "two_calls", "trap")
"""One call; a look-up and the act that needs it; two user messages of which one is a trap."""

CANNOT = ("cannot", "can't", "can not", "not possible", "unable", "not able", "not allowed")
"""How a reply says that something will not be done: it holds one of these."""

Row = Mapping[str, str | int]
"""A flat JSON object: a row of the table, the arguments of a call, or a result."""

State = Mapping[str, Row]
"""The table: rows by id."""

TEXT: Mapping[str, JsonValue] = {"type": "string"}
WHOLE: Mapping[str, JsonValue] = {"type": "integer"}


@dataclass(frozen=True)
class Action:
    """A tool and what executing it does."""

    tool: Tool
    run: Callable[[State, Row], tuple[State, Row]]
    """Maps (state, arguments that fit the tool's schema) to (next state, result)."""


@dataclass(frozen=True)
class Exchange:
    """One user message and how the solver answers it.

    `{field}` in an argument or in the reply stands for that field of the latest call or result.
    """

    text: str
    plan: tuple[Call, ...]
    reply: str
    facts: tuple[tuple[str, ...], ...]
    """What a good reply holds: of each tuple one text, letter case aside."""
    refusal: str = ""
    """The error code that the world answers to this plan, if it refuses."""


Story = Callable[[Random], tuple[State, tuple[Exchange, ...]]]
"""Draws an initial state and the exchanges of one scenario, or raises `WorldError`."""

Answered = tuple[Call, Message]
"""A call and the tool message that answers it."""


@dataclass(frozen=True)
class Scenario:
    """An initial state, what the user says, and the state that a good agent leaves."""

    id: str
    domain: str
    tier: str
    seed: int
    state: State
    exchanges: tuple[Exchange, ...]
    goal: State
    traceless: tuple[tuple[Answered, ...], ...]
    """For each exchange the calls that leave the state as it is: only the conversation shows them.
    """

    @property
    def user_messages(self) -> tuple[str, ...]:
        """What the user says, in order."""
        return tuple(exchange.text for exchange in self.exchanges)


@dataclass(frozen=True)
class World:
    """An executable domain."""

    domain: str
    system: str
    """The policy text that the agent works under."""
    actions: tuple[Action, ...]
    stories: Mapping[str, Story]
    """One for each tier."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the agent may call."""
        return tuple(action.tool for action in self.actions)

    def execute(self, state: State, call: Call) -> tuple[State, Row]:
        """The next state and the result of `call`, an error result for one that cannot run."""
        action = next((one for one in self.actions if one.tool.name == call.name), None)
        if action is None:
            return state, refusal("UNKNOWN_TOOL", f"There is no tool {call.name}.")
        fault = next(Draft202012Validator(action.tool.parameters).iter_errors(call.arguments), None)
        if fault is not None:
            return state, refusal("BAD_ARGUMENTS", fault.message)
        # In JSON Schema 3.0 is an integer.
        whole = {k: int(v) if isinstance(v, float) else v for k, v in call.arguments.items()}
        return action.run(state, {k: v for k, v in whole.items() if isinstance(v, str | int)})

    def scenario(self, seed: int, tier: str) -> Scenario:
        """The scenario of (domain, tier, seed): always the same one.

        Raises `WorldError` for a tier that this world lacks, and for a scenario that cannot be
        drawn, whose plan fails, or that can be won without a call.
        """
        if tier not in self.stories:
            known = ", ".join(self.stories)
            raise WorldError(f"{self.domain} has no tier '{tier}'; choose one of {known}.")
        name = f"{self.domain}/{tier}/{seed}"
        try:
            state, exchanges = self.stories[tier](Random(name))
        except WorldError as error:
            raise WorldError(f"{name} cannot be drawn: {error}") from None
        scenario = Scenario(name, self.domain, tier, seed, state, exchanges, state, traceless=())
        goal, conversation = _perform(self, scenario)
        traceless = _traceless(self, state, conversation)
        if goal == state and not any(traceless):
            raise WorldError(f"{name} can be won without a call; correct its story.")
        return replace(scenario, goal=goal, traceless=traceless)


@dataclass
class WorldEnvironment:
    """Answers the calls of one episode by executing them (`environment.Environment`)."""

    world: World
    state: State

    async def respond(self, call: Call, conversation: tuple[Message, ...] = ()) -> Observation:
        """Executes `call` and keeps the state that it leaves."""
        self.state, result = self.world.execute(self.state, call)
        return Observation(content={**result})


def tool(name: str, description: str, **parameters: Mapping[str, JsonValue]) -> Tool:
    """A tool whose arguments, each with its schema, are all required."""
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {key: {**schema} for key, schema in parameters.items()},
            "required": [*parameters],
            "additionalProperties": False,
        },
    )


def refusal(code: str, message: str) -> Row:
    """The result of a call that the world does not carry out."""
    return {"error": code, "message": message}


def changed(state: State, key: str, **fields: str | int) -> State:
    """`state` with these fields of the row `key` set."""
    return {**state, key: {**state.get(key, {}), **fields}}


def solve(world: World, scenario: Scenario) -> tuple[Message, ...]:
    """The conversation of the scripted solver, every call executed.

    Raises `WorldError` when the scenario cannot be solved.
    """
    state, conversation = _perform(world, scenario)
    passed, why = succeeded(scenario, state, conversation)
    if not passed:
        raise WorldError(f"{scenario.id} is not solved by its plan: {why}; correct its story.")
    return conversation


def succeeded(
    scenario: Scenario, state: State, conversation: Sequence[Message]
) -> tuple[bool, str]:
    """Did a played `conversation` that left `state` do what the scenario asks; if not, why not?"""
    replies = _replies(conversation)
    expected = len(scenario.exchanges)
    if len(replies) < expected or not all(replies[:expected]):
        return False, f"{sum(map(bool, replies))} of {expected} user messages got a reply"
    if state != scenario.goal:
        keys = sorted({*state, *scenario.goal})
        wrong = [key for key in keys if state.get(key) != scenario.goal.get(key)]
        return False, f"the final state of {', '.join(wrong)} is wrong"
    calls, made = _answered(conversation), list[Answered]()
    for index, exchange in enumerate(scenario.exchanges):
        made += calls[index]
        if unmade := [one[0].name for one in scenario.traceless[index] if one not in made]:
            return False, f"reply {index + 1} does not rest on {unmade[0]} as planned"
        if lacking := _lacking(exchange, replies[index]):
            return False, f"reply {index + 1} lacks '{lacking}'"
    return True, ""


def _lacking(exchange: Exchange, reply: str) -> str:
    """The first fact that is not in the reply, if one is not."""
    said = reply.lower()
    lacking = (f[0] for f in exchange.facts if not any(text.lower() in said for text in f))
    return next(lacking, "")


def _replies(conversation: Sequence[Message]) -> list[str]:
    """For each user message the last reply that follows it, empty when there is none."""
    replies: list[str] = []
    for message in conversation:
        if message.role == "user":
            replies.append("")
        elif message.role == "assistant" and not message.calls and replies:
            replies[-1] = message.content
    return replies


def _answered(conversation: Sequence[Message]) -> list[list[Answered]]:
    """For each user message the calls that follow it, with their answers."""
    found: list[list[Answered]] = []
    for index, message in enumerate(conversation):
        if message.role == "user":
            found.append([])
        elif message.calls and found:
            answers = conversation[index + 1 : index + 1 + len(message.calls)]
            found[-1] += zip(message.calls, answers, strict=False)
    return found


def _traceless(
    world: World, state: State, conversation: Sequence[Message]
) -> tuple[tuple[Answered, ...], ...]:
    """For each user message the answered calls that leave the state as it is."""
    found: list[tuple[Answered, ...]] = []
    for pairs in _answered(conversation):
        found.append(())
        for call, answer in pairs:
            after, _ = world.execute(state, call)
            found[-1] += ((call, answer),) if after == state else ()
            state = after
    return tuple(found)


def _perform(world: World, scenario: Scenario) -> tuple[State, tuple[Message, ...]]:
    """Plays the plans. Raises `WorldError` for a missing field or an unplanned refusal."""
    state, known = scenario.state, dict[str, str | int]()
    messages: list[Message] = []
    for exchange in scenario.exchanges:
        messages.append(Message(role="user", content=exchange.text))
        refused = ""
        for planned in exchange.plan:
            call = _filled(scenario, planned, known)
            state, result = world.execute(state, call)
            refused = refused or str(result.get("error", ""))
            given = {k: v for k, v in call.arguments.items() if isinstance(v, str | int)}
            known |= given | dict(result)
            messages += [
                Message(role="assistant", calls=(call,)),
                Message(role="tool", name=call.name, content=dumps(result)),
            ]
        if refused != exchange.refusal:
            raise WorldError(
                f"{scenario.id}: the world answered '{refused or 'no error'}' where the plan "
                f"expects '{exchange.refusal or 'no error'}'; correct its story."
            )
        reply = _fill(scenario, exchange.reply, known)
        messages.append(Message(role="assistant", content=reply))
    return state, tuple(messages)


def _filled(scenario: Scenario, planned: Call, known: Row) -> Call:
    arguments = {
        key: _fill(scenario, value, known) if isinstance(value, str) else value
        for key, value in planned.arguments.items()
    }
    return Call(name=planned.name, arguments=arguments)


def _fill(scenario: Scenario, template: str, known: Row) -> str:
    try:
        return template.format_map(known)
    except (KeyError, ValueError) as error:
        raise WorldError(
            f"{scenario.id}: '{template}' needs {error}, which no call or result of the plan has "
            "given; correct its story."
        ) from None
