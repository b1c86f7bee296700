"""Chat completions with tools, as clients log them → tasks.

One idea: a task is a conversation of finished turns, so what a log leaves open is cut off, and what
clients write in many ways (arguments as text or object, `null` content, parts, `function_call`,
results in any order) is brought into one. A result that is no JSON object or array becomes
`{"result": …}`, since that is what a rehearsed response looks like. Nothing here raises for a
record, whatever it holds: it becomes a `Rejected` with a reason.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import JsonValue, ValidationError

from envace.episode import Call, Message, Tool
from envace.strict_json import dumps, loads, shared
from envace.tasks.checks.text import visible
from envace.tasks.labels.recorded import checklists
from envace.tasks.source import Rejected
from envace.tasks.task import ChecklistItem, Task

EMPTY: dict[str, JsonValue] = {"type": "object", "properties": {}}
"""The schema of a tool that says none: it takes no arguments."""


@dataclass(frozen=True)
class About:
    """What is known of a record beside its messages."""

    source: str
    """The plug-in."""
    place: str
    """Where the record is, for example `logs.jsonl:@4096`."""
    id: str = ""
    """Its own id; without one the task is named by a hash of what it holds."""
    domain: str = "chat"
    tier: str = ""
    family: str = ""


class Refused(ValueError):
    """A record cannot become a task; the message is `code: detail`."""


@dataclass(frozen=True)
class _Said:
    """A message as it was logged."""

    role: str
    text: str
    calls: tuple[tuple[str, Call], ...] = ()
    """Each with its id, which may be empty."""
    answers: str = ""
    """Of a tool message: the id of the call."""
    name: str = ""


def task_of(
    messages: object,
    tools: object,
    about: About,
    labels: tuple[tuple[ChecklistItem, ...], ...] = (),
) -> Task | Rejected:
    """The record as a task, or why it is none. `labels` are its checklists, if it brings its own.

    `messages` and `tools` are OpenAI's lists, or these as JSON text.
    """
    try:
        offered = tools_of(tools)
        said = [_said(one, n) for n, one in enumerate(_list(messages, "messages"))]
        system, rest = _system(said)
        conversation = tuple(_finished([*_conversation(_merged(rest))]))
        found = labels[: sum(m.role == "user" for m in conversation)]
        return Task(
            id=f"{about.source}/{about.id or _digest(system, offered, conversation)}",
            source=about.source,
            domain=about.domain,
            tier=about.tier or _tier(conversation),
            family=about.family,
            system=system,
            tools=offered,
            conversation=conversation,
            checklists=found or checklists([*map(_shown, conversation)], offered),
        )
    except Refused as error:
        return Rejected(about.source, about.place, str(error))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return Rejected(about.source, about.place, f"bad_record: {where}: {first['msg'].lower()}")


def _shown(message: Message) -> Message:
    """The message as the user sees it: a value in a thought is not in the reply."""
    text = visible(message.content) if message.role == "assistant" else message.content
    return message if text is message.content else message.model_copy(update={"content": text})


def tools_of(value: object) -> tuple[Tool, ...]:
    """Tools in OpenAI's form, in the older one without `type`, or in MCP's. Raises `Refused`."""
    if isinstance(value, str):
        return _tools_of_text(value)
    return tuple(map(_tool, _list(value, "tools") if value is not None else []))


@lru_cache(maxsize=64)
def _tools_of_text(text: str) -> tuple[Tool, ...]:
    """Many records of a log offer the same tools, in the same words."""
    return tuple(map(_tool, _list(text, "tools")))


def _tool(value: object) -> Tool:
    inner = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        raise Refused(f"bad_tool: got {_short(value)}, expected a function with a name")
    schema = inner.get("parameters") or inner.get("inputSchema") or inner.get("input_schema")
    return Tool(
        name=inner["name"],
        description=_word(inner.get("description")),
        parameters=schema or EMPTY,
    )


def _list(value: object, what: str) -> list[object]:
    if isinstance(value, str):
        try:
            value = loads(value)
        except ValueError as error:
            raise Refused(f"bad_json: {what} cannot be read ({error})") from None
    if not isinstance(value, list):
        raise Refused(f"bad_{what}: got {_short(value)}, expected a list")
    return list[object](value)


def _said(value: object, place: int) -> _Said:
    if not isinstance(value, dict):
        raise Refused(f"bad_messages: message {place} is {_short(value)}, expected an object")
    role = "tool" if (role := value.get("role")) == "function" else role
    if role not in ("system", "developer", "user", "assistant", "tool"):
        raise Refused(f"unknown_role: message {place} is of {_short(role)}")
    return _Said(
        role="system" if role == "developer" else role,
        text=(_structured if role == "tool" else _text)(value.get("content"), place),
        calls=tuple(_calls(value, place)),
        answers=_word(value.get("tool_call_id")),
        name=_word(value.get("name")),
    )


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _structured(content: object, place: int) -> str:
    """The text of a result, which some log as the value that it is."""
    parts = isinstance(content, list) and all(isinstance(p, dict) and "text" in p for p in content)
    if content is None or isinstance(content, str) or (content and parts):
        return _text(content, place)
    try:
        return dumps(content)
    except (TypeError, ValueError) as error:
        raise Refused(f"bad_result: message {place} holds no JSON ({error})") from None


def _text(content: object, place: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Refused(f"not_text: message {place} holds {_short(content)}")
    texts: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        if not isinstance(text, str):
            raise Refused(f"not_text: message {place} holds {_short(part)}")
        texts.append(text)
    return "\n".join(texts)


def _calls(message: dict[object, object], place: int) -> Iterator[tuple[str, Call]]:
    made = message.get("tool_calls") or []
    if not isinstance(made, list):
        raise Refused(f"bad_call: message {place} calls {_short(made)}, expected a list")
    older = message.get("function_call")  # the form before tools, which some write beside them
    for one in made or ([{"function": older}] if older else []):
        function = one.get("function", one) if isinstance(one, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise Refused(f"bad_call: message {place} calls {_short(one)}")
        arguments = _arguments(function.get("arguments"), place)
        yield _word(one.get("id")), Call(name=function["name"], arguments=arguments)


def _arguments(value: object, place: int) -> dict[str, JsonValue]:
    got = value
    try:
        if isinstance(value, str):
            value = loads(value) if value.strip() else {}
        else:
            dumps(value)  # Parquet holds dates, bytes and NaN too
    except (TypeError, ValueError) as error:
        got = f"{_short(got)}, expected JSON ({error})"
        raise Refused(f"bad_arguments: message {place} calls with {got}") from None
    if not isinstance(value, dict | None):
        raise Refused(f"bad_arguments: message {place} calls with {_short(got)}")
    return value or {}


def _system(said: Sequence[_Said]) -> tuple[str, list[_Said]]:
    """The policy text at the start, and what follows; a greeting before the user is left out."""
    start = next((n for n, one in enumerate(said) if one.role != "system"), len(said))
    late = next((n for n, one in enumerate(said) if n > start and one.role == "system"), None)
    if late is not None:
        raise Refused(f"late_system: message {late} changes the instructions in mid-conversation")
    rest = list(said[start:])
    while rest and rest[0].role == "assistant" and not rest[0].calls:
        rest = rest[1:]
    return "\n\n".join(one.text for one in said[:start] if one.text), rest


def _merged(said: Sequence[_Said]) -> list[_Said]:
    """Calls that were logged apart from the text or calls before them are of one message."""
    found: list[_Said] = []
    for one in said:
        last = found[-1] if found else None
        if last and last.role == one.role == "assistant" and one.calls:
            text = "\n".join(filter(None, (last.text, one.text)))
            found[-1] = replace(one, text=text, calls=last.calls + one.calls)
        else:
            found.append(one)
    return found


def _conversation(said: Sequence[_Said]) -> Iterator[Message]:
    """The messages, each call followed by what answered it, in the order of the calls."""
    place = 0
    while place < len(said):
        one = said[place]
        place += 1
        if one.role == "tool":
            raise Refused(f"unmatched_result: a result of '{one.name or one.answers}' answers none")
        calls = tuple(call for _, call in one.calls)
        role = "user" if one.role == "user" else "assistant"
        yield Message(role=role, content=one.text, calls=calls)
        results: list[_Said] = []
        while place < len(said) and said[place].role == "tool":
            results.append(said[place])
            place += 1
        if one.calls and len(results) < len(one.calls) and place == len(said):
            return  # the log ends before the answers came
        yield from _answers(one, results)


def _answers(said: _Said, results: list[_Said]) -> Iterator[Message]:
    left = list(results)
    for name, call in said.calls:
        found = next((one for one in left if name and one.answers == name), None)
        # Without ids, results are in the order of the calls.
        found = found or next((one for one in left if not (name and one.answers)), None)
        if found is None:
            raise Refused(f"missing_result: a call of '{_short(call.name)}' has no result")
        left.remove(found)
        yield Message(role="tool", name=call.name, content=_result(found.text))
    if left:
        raise Refused(f"unmatched_result: {len(left)} results answer no call")


def _result(text: str) -> str:
    try:
        value = shared(text)
    except ValueError:
        value = text
    return text if isinstance(value, dict | list) else dumps({"result": value})


def _finished(messages: Sequence[Message]) -> Sequence[Message]:
    """Up to the last reply."""
    ends = [n for n, one in enumerate(messages) if one.role == "assistant" and not one.calls]
    if not ends:
        raise Refused("unfinished: no turn ends with a reply")
    return messages[: ends[-1] + 1]


def _tier(conversation: Sequence[Message]) -> str:
    turns = sum(one.role == "user" for one in conversation)
    calls = sum(len(one.calls) for one in conversation)
    called = "no_call" if not calls else "one_call" if calls == 1 else "several_calls"
    return called if turns == 1 else f"several_turns_{called}"


def _digest(system: str, tools: Sequence[Tool], conversation: Sequence[Message]) -> str:
    text = "\0".join((system, *map(str, tools), *map(str, conversation)))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _short(value: object) -> str:
    return (text := repr(value))[:79] + "…" * (len(text) > 79)
