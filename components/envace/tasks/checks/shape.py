"""Rules on the shape of a recording: which tools it offers, whose turn it is, how large it is.

What is sound is told by writers in C; Python looks only at what they cannot write.
"""

from collections.abc import Iterator
from itertools import chain

import orjson
from pydantic import JsonValue

from envace.episode import Call, Message
from envace.tasks.checks.dialect import MAX_BYTES, schema_problem, short, unreal, walk
from envace.tasks.checks.text import visible
from envace.tasks.task import CallMade, ChecklistItem, ObservationHas, OnlyCalls, ReplyHas, Task

MAX_TOOLS, MAX_TURNS, MAX_CALLS = 128, 50, 200
"""Most candidate tools, user messages and calls of a task."""


def not_finite(task: Task) -> str | None:
    """`not_finite`: a number somewhere is NaN, infinite or beyond a float."""
    values = list(_values(task))
    if _plain(values) or not any(unreal(part) for part, _ in walk(values)):
        return None
    return "not_finite: the record holds a number that is not finite"


def _plain(values: list[JsonValue]) -> bool:
    """Is all Unicode, every number of 64 bits, and nothing null? orjson writes NaN as null."""
    try:
        return b"null" not in orjson.dumps(values)
    except TypeError:
        return False


def _values(task: Task) -> Iterator[JsonValue]:
    """Everything in the task that is JSON."""
    yield from (dict(tool.parameters) for tool in task.tools)
    yield from (dict(call.arguments) for m in task.conversation for call in m.calls)
    for item in chain.from_iterable(task.checklists):
        yield item.weight
        if isinstance(item.check, CallMade):
            yield dict(item.check.arguments)
        elif isinstance(item.check, ObservationHas):
            yield dict(item.check.fields)


def not_unicode(task: Task) -> str | None:
    """`not_unicode`: a text holds half of a surrogate pair, which no file can hold."""
    texts, values = list(_texts(task)), list(_values(task))
    if _encodes("".join(texts)) and _plain(values):
        return None
    inner = (part for part, _ in walk(values))
    keys_and_texts = chain.from_iterable(
        part if isinstance(part, dict) else (part,)
        for part in inner
        if isinstance(part, dict | str)
    )
    for text in chain(texts, keys_and_texts):
        if not _encodes(text):
            return f"not_unicode: {short(ascii(text))} holds half of a surrogate pair"
    return None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(task: Task) -> Iterator[str]:
    """The texts of the task outside its JSON."""
    yield from (task.id, task.source, task.domain, task.tier, task.family, task.system)
    for tool in task.tools:
        yield from (tool.name, tool.description)
    for message in task.conversation:
        yield from (message.content, message.name or "", *(call.name for call in message.calls))
    for item in chain.from_iterable(task.checklists):
        yield from (item.id, item.question, item.pass_condition)
        yield from (*item.failure_examples, *item.evidence, *item.dependence)
        match item.check:
            case CallMade() as made:
                yield from (made.name, *made.loose, *made.unordered)
            case OnlyCalls(names=texts) | ReplyHas(any_of=texts):
                yield from texts
            case ObservationHas(name=name):
                yield name
            case None:
                pass


def too_many(task: Task) -> str | None:
    """`too_many`: more tools, turns or calls than anything that is trained on."""
    counts = {
        "tools": (len(task.tools), MAX_TOOLS),
        "user messages": (len(task.user_messages), MAX_TURNS),
        "calls": (sum(len(message.calls) for message in task.conversation), MAX_CALLS),
    }
    for what, (count, limit) in counts.items():
        if count > limit:
            return f"too_many: {count:,} {what}, limit {limit}"
    return None


def duplicate_tool(task: Task) -> str | None:
    """`duplicate_tool`: a name is offered twice."""
    names = [tool.name for tool in task.tools]
    if len(set(names)) == len(names):
        return None
    twice = next(name for name in sorted(names) if names.count(name) > 1)
    return f"duplicate_tool: '{short(twice)}' is offered {names.count(twice)} times"


def invalid_schema(task: Task) -> str | None:
    """`invalid_schema`: a tool's schema is outside the closed dialect."""
    for tool in task.tools:
        if not tool.name.strip():
            return "invalid_schema: a tool has no name"
        if found := schema_problem(tool):
            return f"invalid_schema: tool '{short(tool.name)}': {found}"
    return None


def role_order(task: Task) -> str | None:
    """`role_order`, `tool_order`, `empty_message`, `unfinished`.

    User, then assistant; after calls their tool messages in order; a reply at the end.
    """
    expected: list[str] = ["user"]
    waiting: list[Call] = []
    for index, message in enumerate(task.conversation):
        if message.role not in expected:
            return f"role_order: message {index} is {message.role}, expected {expected[0]}"
        if waiting and message.name != waiting[0].name:
            got, wanted = short(str(message.name)), short(waiting[0].name)
            return f"tool_order: message {index} answers '{got}', expected '{wanted}'"
        waiting = waiting[1:] if waiting else list(message.calls)
        expected = _next_roles(message, waiting)
        if message.calls and message.role != "assistant":
            return f"role_order: message {index} is {message.role} and makes calls"
        if not message.calls and not visible(message.content).strip():
            return f"empty_message: message {index} ({message.role}) says and calls nothing"
    if expected != ["user"] or not task.conversation:
        return f"unfinished: the conversation ends where {expected[0]} was expected"
    return None


def _next_roles(message: Message, waiting: list[Call]) -> list[str]:
    if waiting:
        return ["tool"]
    return ["user"] if message.role == "assistant" else ["assistant"]


def too_large(task: Task) -> str | None:
    """`too_large`: a text, or the arguments of a call, takes more than `MAX_BYTES`."""
    for what, text in _sized(task):
        size = len(text) if text.isascii() else len(text.encode())
        if size > MAX_BYTES:
            return f"too_large: {what} takes {size:,} bytes, limit {MAX_BYTES:,}"
    return None


def _sized(task: Task) -> Iterator[tuple[str, str]]:
    yield from (("the id", task.id), ("the system text", task.system))
    for number, tool in enumerate(task.tools):
        yield f"the name of tool {number}", tool.name
        yield f"the description of tool {number}", tool.description
    for number, message in enumerate(task.conversation):
        yield f"message {number}", message.content
        for call in message.calls:
            yield f"a call of message {number}", call.model_dump_json()


def checklists(task: Task) -> str | None:
    """`checklists`: one a user message, weights that sum to 1, ids and dependences that hold."""
    turns = len(task.user_messages)
    if task.checklists and len(task.checklists) != turns:
        return f"checklists: {len(task.checklists)} for {turns} user messages, expected one each"
    for index, items in enumerate(task.checklists):
        if found := _checklist(items, f"turn {index}"):
            return f"checklists: {found}"
    return None


def _checklist(items: tuple[ChecklistItem, ...], turn: str) -> str | None:
    total = sum(item.weight for item in items)
    if abs(total - 1) > 1e-6:
        return f"the weights of {turn} sum to {total:g}, expected 1"
    needs = {item.id: set(item.dependence) for item in items}
    if len(needs) < len(items):
        return f"two items of {turn} have one id"
    if loose := set[str]().union(*needs.values()) - needs.keys():
        return f"items of {turn} depend on {short(repr(min(loose)))}, which is none of them"
    while ready := {name for name, on in needs.items() if not on & needs.keys()}:
        needs = {name: on for name, on in needs.items() if name not in ready}
    return f"items of {turn} depend on each other" if needs else None
