"""OpenAI's chat completions on the wire.

One idea: whatever cannot be honoured is refused in one sentence, with status 400; nothing that a
client sends is guessed, fetched or executed. Without effect are only its own labels (`user`,
`metadata`, the `name` of a message) and a tool's `strict`: whoever executes a call checks it. Two
fields are ours: `rehearsals` (how often to rehearse in private before answering) and `memory` (what
an earlier answer's rehearsal left, so that the calls which follow are made with the same plan).
"""

import time
import uuid
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from envace.episode import Fault, Turn
from envace.strict_json import dumps, loads

_MAX_SHOWN = 80


class BadRequest(ValueError):
    """A request that cannot be honoured, in one sentence."""

    status = 400


class UnknownModel(BadRequest):
    """A request for a model that is not served here."""

    status = 404


class Wire(BaseModel):
    """A frozen part of a request or response; an unknown key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _join(content: object) -> object:
    """A list of text parts as one text; anything else as it is."""
    if not isinstance(content, list):
        return content
    return "".join(_Part.model_validate(part).text for part in content)


class _Part(Wire):
    type: Literal["text"]
    text: str


Content = Annotated[str, BeforeValidator(_join)]


class CalledFunction(Wire):
    """What a call calls."""

    name: str
    arguments: str
    """A JSON object as text."""


class ToolCall(Wire):
    """A call in an assistant message."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None
    """Its place, which only a streamed answer needs."""


class InstructionMessage(Wire):
    """The policy text that the agent works under."""

    role: Literal["system", "developer"]
    content: Content
    name: str | None = None


class UserMessage(Wire):
    """What the user said."""

    role: Literal["user"]
    content: Content
    name: str | None = None


class AssistantMessage(Wire):
    """What the agent said or called."""

    role: Literal["assistant"]
    content: Content | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    name: str | None = None
    refusal: None = None
    audio: None = None
    annotations: tuple[()] | None = None
    function_call: None = None


class ToolMessage(Wire):
    """What a tool answered."""

    role: Literal["tool"]
    tool_call_id: str
    content: Content


AnyMessage = InstructionMessage | UserMessage | AssistantMessage | ToolMessage


class Function(Wire):
    """A tool's name and schema."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None
    """JSON Schema of the arguments object; None: it takes none."""
    strict: bool | None = None
    """Without effect: the policy writes the arguments freely."""


class ToolDefinition(Wire):
    """A tool that the agent may call."""

    type: Literal["function"]
    function: Function


class StreamOptions(Wire):
    """How an answer is streamed."""

    include_usage: Literal[False] = False
    """Prompt tokens are not counted, so there is no usage to include."""


class ChatRequest(Wire):
    """The body of `POST /v1/chat/completions`."""

    model: str
    messages: tuple[Annotated[AnyMessage, Field(discriminator="role")], ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    parallel_tool_calls: Literal[True] = True
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None is the temperature that the agent was configured with; 0 is greedy."""
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int = 0
    """Decides the samples: the same request gets the same answer."""
    n: Literal[1] = 1
    stream: bool = False
    """An answer is streamed as one chunk."""
    stream_options: StreamOptions | None = None
    user: str | None = None
    """The client's own label, as `metadata` is; neither is kept."""
    metadata: dict[str, str] | None = None
    rehearsals: int = Field(default=0, ge=0, le=16)
    """Private rehearsals before the answer."""
    memory: str = ""
    """The memory of an earlier answer, instead of rehearsing again."""

    @property
    def limit(self) -> int | None:
        """Most tokens of the answer."""
        return self.max_completion_tokens or self.max_tokens


class Identity(Wire):
    """Which model answers: an alias, resolved once to a version and its bytes."""

    model: str
    """The name that clients ask for."""
    alias: str
    version: int
    digest: str


class Model(Wire):
    """A model in the list of models."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """When it began to be served, seconds since 1970."""
    owned_by: str = "envace"


class Models(Wire):
    """The body of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: tuple[Model, ...]


class Cost(Wire):
    """What an answer took; the field `envace` of a response."""

    attempts: int
    """Private rehearsals."""
    memory: str
    """The plan that rehearsal left, empty without one."""
    tokens: int
    """Tokens sampled, rehearsal included."""
    seconds: float
    """Wall-clock time."""
    fault: str | None = None
    """What is wrong with the output, whose text is then given as it is."""


def read_json(text: str) -> JsonValue:
    """The value of `text`, which can be written as UTF-8 JSON again. Raises `ValueError`."""
    value = loads(text)
    dumps(value).encode()
    return value


def read_request(body: bytes) -> ChatRequest:
    """The request in `body`. Raises `BadRequest`."""
    try:
        request = ChatRequest.model_validate(read_json(body.decode()))
    except ValidationError as error:
        raise BadRequest(_sentence(error)) from None
    except ValueError as error:
        raise BadRequest(f"the body is not plain JSON: {error}.") from None
    if request.memory and request.rehearsals:
        raise BadRequest("memory and rehearsals exclude each other; send one of them.")
    return request


def write_response(request: ChatRequest, turn: Turn, cost: Cost, identity: Identity) -> JsonValue:
    """The response's body; with `stream`, its only chunk. Prompt tokens are not counted."""
    text = turn.text if turn.fault else turn.reply
    message: dict[str, JsonValue] = {"role": "assistant", "content": text or None}
    if turn.calls:
        message["tool_calls"] = _write_calls(turn, request.stream)
    finish = "length" if turn.fault is Fault.TRUNCATED else "stop"
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion.chunk" if request.stream else "chat.completion",
        "created": int(time.time()),
        "model": identity.model,
        "system_fingerprint": identity.digest,
        "choices": [
            {
                "index": 0,
                "delta" if request.stream else "message": message,
                "finish_reason": "tool_calls" if turn.calls else finish,
                "logprobs": None,
            }
        ],
        "envace": cost.model_dump(mode="json"),
    }


def write_error(sentence: str, kind: str) -> JsonValue:
    """An error's body, as OpenAI's clients read it."""
    return {"error": {"message": sentence, "type": kind, "param": None, "code": None}}


def _write_calls(turn: Turn, stream: bool) -> list[JsonValue]:
    calls = [
        ToolCall(
            id=f"call_{uuid.uuid4().hex}",
            function=CalledFunction(name=call.name, arguments=dumps(dict(call.arguments))),
            index=index if stream else None,
        )
        for index, call in enumerate(turn.calls)
    ]
    return [call.model_dump(mode="json", exclude_none=True) for call in calls]


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the body"
    if first["type"] == "extra_forbidden":
        return f"{where} is not supported; leave it out."
    got = repr(first["input"])
    got = got if len(got) <= _MAX_SHOWN else f"{got[: _MAX_SHOWN - 1]}…"
    return f"{where} is {got}: {first['msg'].lower()}."
