"""Rules on what is written: tags and tokens of a protocol where they do not belong.

Patterns run on RE2, whose time is linear in the text.
"""

from collections.abc import Iterator

import orjson
import re2

from envace.strict_json import dumps
from envace.tasks.checks.dialect import short
from envace.tasks.task import Task

THINK = re2.compile(r"</?think>")
TOOL_TEXT = re2.compile(
    r"</?tool_calls?>|</?execution_result>|</?tool_response>|</?function_calls>|<function=|"
    r"\[TOOL_(?:CALLS|RESULTS)\]|<[|｜]tool[▁_]|<\|python_tag\|>|"
    r'\{\s*"(?:name|function)"\s*:\s*"[^"]*"\s*,\s*"(?:arguments|parameters)"\s*:|'
    r'\{\s*"arguments"\s*:\s*[{"]|'
    r"(?m:^Action:.*\n\s*Action Input:)"
)
"""A call or a result as the common protocols write it."""
CONTROL = re2.compile(
    r"<\|[A-Za-z0-9_]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|\[/?INST\]|<</?SYS>>|</?s>|"
    r"<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>|\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS)\]"
)
"""What the chat templates of the common families take for a token of their own."""


def visible(content: str) -> str:
    """What an assistant message shows: its text without the thoughts that it opens with."""
    if not content.lstrip().startswith("<think>"):
        return content
    return content.partition("</think>")[2]


def unbalanced_think(task: Task) -> str | None:
    """`unbalanced_think`: think tags that are no single pair at an assistant message's start."""
    for index, message in enumerate(task.conversation):
        if "think>" not in message.content:
            continue
        tags = [str(found.group()) for found in THINK.finditer(message.content)]
        opens = message.role == "assistant" and message.content.lstrip().startswith("<think>")
        if tags and not (opens and tags == ["<think>", "</think>"]):
            return f"unbalanced_think: message {index} ({message.role}) has {short(' '.join(tags))}"
    return None


def tool_text(task: Task) -> str | None:
    """`tool_text`: the assistant writes a call or a tool's response as text."""
    for index, message in enumerate(task.conversation):
        if message.role == "assistant" and (found := TOOL_TEXT.search(message.content)):
            return f"tool_text: message {index} writes {short(repr(found.group()))} as text"
    return None


def control_tokens(task: Task) -> str | None:
    """`control_tokens`: a token of a chat template stands in a text, a schema or an argument."""
    places = dict(_places(task))
    if not CONTROL.search("\n".join(places.values())):
        return None
    return next(
        f"control_tokens: {where} holds {found.group()!r}"
        for where, text in places.items()
        if (found := CONTROL.search(text))
    )


def _places(task: Task) -> Iterator[tuple[str, str]]:
    yield "the system text", task.system
    for number, tool in enumerate(task.tools):
        schema = _written(dict(tool.parameters))
        yield f"tool {number}", f"{tool.name}\n{tool.description}\n{schema}"
    for number, message in enumerate(task.conversation):
        yield f"message {number}", message.content
        if message.calls:
            calls = [(call.name, dict(call.arguments)) for call in message.calls]
            yield f"a call of message {number}", _written(calls)


def _written(value: object) -> str:
    """`value` as JSON text."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # an integer of more than 64 bits
        return dumps(value)
