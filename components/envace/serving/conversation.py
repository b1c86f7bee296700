"""What a client sent, as the conversation that the policy was trained to read.

One idea: a tool message of ours answers the calls before it in their order, where OpenAI's names
the call by its id. Results are put in order; a call without its result, or a result without its
call, is refused. Tools and schemas come from strangers and are checked before anything uses them.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from envace.episode import Call, Message, Tool
from envace.serving.wire import (
    AnyMessage,
    AssistantMessage,
    BadRequest,
    ChatRequest,
    Function,
    InstructionMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    read_json,
)
from envace.strict_json import dumps
from envace.tasks.checks.dialect import schema_problem


@dataclass(frozen=True)
class Conversation:
    """A request in envace's vocabulary."""

    system: str
    tools: tuple[Tool, ...]
    messages: tuple[Message, ...]


def read_conversation(request: ChatRequest) -> Conversation:
    """The system text, tools and messages of a request. Raises `BadRequest`."""
    rest = deque(request.messages)
    system: list[str] = []
    while rest and isinstance(rest[0], InstructionMessage):
        system.append(rest[0].content)
        rest.popleft()
    messages = tuple(_messages(rest))
    if not messages or messages[0].role != "user" or messages[-1].role == "assistant":
        raise BadRequest(
            "messages: a conversation starts with a user message after the system messages "
            "and ends with a user message or tool results."
        )
    tools = _tools(each.function for each in request.tools)
    offered = () if request.tool_choice == "none" else tools
    return Conversation("\n\n".join(system), offered, messages)


def _tools(functions: Iterable[Function]) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for each in functions:
        schema = each.parameters or {"type": "object", "properties": {}}
        tool = Tool(name=each.name, description=each.description or "", parameters=schema)
        if tool.name in tools:
            raise BadRequest(f"tools: '{tool.name}' stands twice; give each tool once.")
        if found := schema_problem(tool):
            raise BadRequest(f"tools: the schema of '{tool.name}' cannot be used: {found}.")
        tools[tool.name] = tool
    return tuple(tools.values())


def _messages(rest: deque[AnyMessage]) -> Iterable[Message]:
    while rest:
        each = rest.popleft()
        match each:
            case UserMessage():
                yield Message(role="user", content=each.content)
            case AssistantMessage():
                asked = each.tool_calls or ()
                calls = tuple(map(_call, asked))
                yield Message(role="assistant", content=each.content or "", calls=calls)
                yield from _results(asked, _leading_results(rest))
            case ToolMessage():
                raise BadRequest(f"messages: '{each.tool_call_id}' is no call just before it.")
            case InstructionMessage():
                raise BadRequest(f"messages: a {each.role} message stands after the conversation.")


def _leading_results(rest: deque[AnyMessage]) -> list[ToolMessage]:
    found: list[ToolMessage] = []
    while rest and isinstance(first := rest[0], ToolMessage):
        found.append(first)
        rest.popleft()
    return found


def _results(asked: Sequence[ToolCall], results: Sequence[ToolMessage]) -> Iterable[Message]:
    """The results in the order of their calls."""
    wanted, given = [each.id for each in asked], [each.tool_call_id for each in results]
    if sorted(wanted) != sorted(given) or len(set(wanted)) < len(wanted):
        raise BadRequest(
            f"messages: the calls {wanted} have the results {given}; give each call one result."
        )
    contents = {each.tool_call_id: each.content for each in results}
    for each in asked:
        content = _as_json(contents[each.id])
        yield Message(role="tool", name=each.function.name, content=content)


def _call(asked: ToolCall) -> Call:
    try:
        arguments = read_json(asked.function.arguments)
    except ValueError as error:
        raise BadRequest(
            f"messages: the arguments of '{asked.id}' are not JSON: {error}."
        ) from None
    if not isinstance(arguments, dict):
        raise BadRequest(f"messages: the arguments of '{asked.id}' are not a JSON object.")
    return Call(name=asked.function.name, arguments=arguments)


def _as_json(content: str) -> str:
    """A result as the JSON object or array that the policy knows; other text is wrapped in one."""
    try:
        value = read_json(content)
    except ValueError:
        value = content
    return dumps(value if isinstance(value, dict | list) else {"result": value})
