"""The vocabulary: a policy in two roles plays an episode for a task; a group is G such episodes.

One idea: every token knows where it came from. A `Sequence` is built only by appending `Span`s, so
the ids that were sampled are the ids that are trained; nothing is decoded and tokenised again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue


class Role(StrEnum):
    """The two roles of the one policy (arXiv 2608.06197)."""

    ACT = "act"
    """Reply, or emit tool calls."""
    REHEARSE = "rehearse"
    """Play the tool that was called and produce its response."""


class Record(BaseModel):
    """A frozen record at a file or wire edge; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Tool(Record):
    """A function that the policy may call, in OpenAI's form."""

    name: str
    description: str = ""
    parameters: Mapping[str, JsonValue]
    """JSON Schema of the arguments object."""


class Call(Record):
    """One tool call with parsed arguments."""

    name: str
    arguments: Mapping[str, JsonValue]


class Message(Record):
    """One message of a conversation. A tool message answers the calls before it in their order."""

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    """Visible text; for a tool message the response as JSON text."""
    calls: tuple[Call, ...] = ()
    """Assistant only: the calls that this message makes."""
    name: str | None = None
    """Tool only: the tool that answers."""


class Fault(StrEnum):
    """What is wrong with a generation. A fault is data: it is counted, shown and scored."""

    EMPTY = "EMPTY"
    TRUNCATED = "TRUNCATED"
    NO_TAG = "NO_TAG"
    MALFORMED_TAG = "MALFORMED_TAG"
    BAD_JSON = "BAD_JSON"
    WRONG_TYPE = "WRONG_TYPE"
    INVALID_TOOL_CALL_FORMAT = "INVALID_TOOL_CALL_FORMAT"
    TOO_MANY_STEPS = "TOO_MANY_STEPS"
    TOO_LONG = "TOO_LONG"


class Source(StrEnum):
    """Where the tokens of a span came from."""

    TEMPLATE = "template"
    """Written by the renderer: headers, instructions, tools."""
    RECORDED = "recorded"
    """Text of a user or of a recording."""
    TOOL = "tool"
    """A tool's response, real or rehearsed."""
    SAMPLED = "sampled"
    """Sampled from the policy, with log-probabilities: what GRPO trains."""
    DEMONSTRATED = "demonstrated"
    """Written by a recording in the policy's place: what the warm start trains."""


@dataclass(frozen=True)
class Span:
    """Consecutive tokens of one source."""

    source: Source
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    """Of a sampled span: log-probability of each id under the policy that sampled it (nats)."""
    version: str = ""
    """Of a sampled span: the version of the policy that sampled it."""

    def __post_init__(self) -> None:
        sampled = self.source is Source.SAMPLED
        assert len(self.logprobs) == (len(self.ids) if sampled else 0), "one log-prob a sampled id"


@dataclass(frozen=True)
class Sequence:
    """Tokens of one role in order, with the provenance of each."""

    role: Role
    spans: tuple[Span, ...] = ()

    def extend(self, *spans: Span) -> "Sequence":
        """This sequence with `spans` appended; what was there is never changed."""
        return replace(self, spans=self.spans + spans)

    @property
    def ids(self) -> tuple[int, ...]:
        """All token ids, t of them."""
        return tuple(token for span in self.spans for token in span.ids)

    @property
    def trained(self) -> tuple[bool, ...]:
        """For each of the t tokens: was it produced in the policy's place?"""
        produced = (Source.SAMPLED, Source.DEMONSTRATED)
        return tuple(span.source in produced for span in self.spans for _ in span.ids)

    @property
    def logprobs(self) -> tuple[float, ...]:
        """For each of the t tokens: its sampling log-probability, 0 where it was not sampled."""
        return tuple(
            value for span in self.spans for value in (span.logprobs or (0.0,) * len(span.ids))
        )

    @property
    def outputs(self) -> int:
        """How many outputs of the policy it holds."""
        return sum(span.source in (Source.SAMPLED, Source.DEMONSTRATED) for span in self.spans)


@dataclass(frozen=True)
class Turn:
    """One output of the policy in one role, as it was read."""

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    """ACT: the calls it makes; none means that it replies."""
    reply: str = ""
    """ACT: the text the user sees. REHEARSE: the tool response as JSON text."""
    fault: Fault | None = None
    tokens: int = 0
    """How many tokens were sampled for it."""
    detail: str = ""
    """What exactly is wrong, when a fault is there."""
    sequence: Sequence | None = None
    """REHEARSE: its own training sequence. ACT outputs share the episode's sequence."""


@dataclass(frozen=True)
class Observation:
    """What answered a call: an environment's response, or the error object of a check."""

    content: JsonValue
    """A JSON object or array."""
    turn: Turn | None = None
    """The REHEARSE turn that produced it, if one did."""
    code: str | None = None
    """The error code of a check that refused the call before it reached the environment."""


@dataclass(frozen=True)
class Step:
    """One ACT turn and the observations of its calls, in order."""

    act: Turn
    observations: tuple[Observation, ...] = ()


@dataclass(frozen=True)
class Episode:
    """One play of a task: for each user message the steps that followed it."""

    task_id: str
    rounds: tuple[tuple[Step, ...], ...]
    """One entry a user message: the steps taken until the policy replied (or was stopped)."""
    sequence: Sequence
    """All ACT outputs in one sequence."""
    messages: tuple[Message, ...] = ()
    """The conversation as it went."""
    fault: Fault | None = None
    """Why it ended early, if it did."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every output of the policy in both roles, in the order they were produced."""
        found: list[Turn] = []
        for step in (step for steps in self.rounds for step in steps):
            found += [step.act, *(seen.turn for seen in step.observations if seen.turn)]
        return tuple(found)

    @property
    def sequences(self) -> tuple[Sequence, ...]:
        """The training sequences: one for ACT, one for each REHEARSE output."""
        return (self.sequence, *(turn.sequence for turn in self.turns if turn.sequence))


@dataclass(frozen=True)
class Group:
    """G episodes of one task with their rewards; `None` is a missing reward, which is not 0."""

    task_id: str
    episodes: tuple[Episode, ...]
    rewards: tuple[float | None, ...]

    def __post_init__(self) -> None:
        assert len(self.episodes) == len(self.rewards), "one reward (or None) an episode"
