"""Checklists from a recording: what its calls, results and replies show, as items a rule decides.

One idea: the recording is the evidence. Nothing is known about the source but its messages, so a
recording of any tools becomes items in CM2's form (arXiv 2602.12268) without a judge.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic import JsonValue

from envace.episode import Call, Message, Tool
from envace.strict_json import loads
from envace.tasks.task import CallMade, ChecklistItem, ObservationHas, OnlyCalls, ReplyHas, says
from envace.worlds.world import CANNOT

CALLS, RESULTS, ONLY, REPLY = 0.5, 0.2, 0.1, 0.2
"""Shares of a turn's score; what is absent leaves its share to the others in proportion."""
MAX_FIELDS = 4
"""Fields of a result that an item asks for."""
MAX_VALUES = 3
"""Values of a reply that items ask for."""
MAX_TEXT = 40
"""Characters of a text that counts as a value; anything longer is prose."""
MAX_EVIDENCE = 200
"""Characters of a snippet."""
CHECK_CODES = ("INVALID_TOOL_CALL_FORMAT", "TOOL_NOT_AVAILABLE", "INVALID_PARAMETERS")
"""Codes of the checks that stand before every environment."""


@dataclass(frozen=True)
class _Recorded:
    """What the recording shows after one user message."""

    user: str
    calls: tuple[tuple[Call, JsonValue], ...]
    """Calls that reached the environment, each with its result."""
    reply: str


def checklists(
    conversation: Sequence[Message], tools: Sequence[Tool]
) -> tuple[tuple[ChecklistItem, ...], ...]:
    """One checklist for each user message; the weights of each sum to 1.

    A call that a check refused is no example, nor is one to a tool that is not among `tools`:
    neither could be made again.
    """
    starts = [index for index, message in enumerate(conversation) if message.role == "user"]
    ends = [*starts[1:], len(conversation)]
    return tuple(
        _checklist(_recorded(conversation[start:end], tools), tools)
        for start, end in zip(starts, ends, strict=False)
    )


def is_refusal(result: JsonValue) -> bool:
    """Is it the error object of a check that stands before every environment?"""
    error = result.get("error") if isinstance(result, Mapping) else None
    return isinstance(error, Mapping) and error.get("code") in CHECK_CODES


def _recorded(messages: Sequence[Message], tools: Sequence[Tool]) -> _Recorded:
    known = {tool.name for tool in tools}
    calls: list[tuple[Call, JsonValue]] = []
    reply = ""
    for index, message in enumerate(messages):
        results = messages[index + 1 : index + 1 + len(message.calls)]
        for call, answer in zip(message.calls, results, strict=False):
            result = _json(answer.content)
            if call.name in known and not is_refusal(result):
                calls.append((call, result))
        if message.role == "assistant" and not message.calls:
            reply = message.content
    return _Recorded(messages[0].content, tuple(calls), reply)


def _checklist(recorded: _Recorded, tools: Sequence[Tool]) -> tuple[ChecklistItem, ...]:
    calls = _unique(_call_item(number, call) for number, (call, _) in enumerate(recorded.calls, 1))
    made = tuple(item.id for item in calls)
    made_by = [next(i.id for i in calls if i.check == _made(call)) for call, _ in recorded.calls]
    results = _unique(
        item
        for number, (call, result) in enumerate(recorded.calls, 1)
        if (item := _result_item(number, call, result, made_by[number - 1]))
    )
    only = [_only_item(recorded)]
    reply = [
        _reply_item(number, texts, made)
        for number, texts in enumerate(_reply_texts(recorded, tools), 1)
    ]
    # A turn without calls is first of all a turn in which none may be made.
    parts = [(CALLS, calls), (RESULTS, results), (ONLY if calls else CALLS, only), (REPLY, reply)]
    total = sum(share for share, items in parts if items)
    return tuple(
        item.model_copy(update={"weight": share / total / len(items)})
        for share, items in parts
        for item in items
    )


def _unique(items: Iterator[ChecklistItem]) -> list[ChecklistItem]:
    """The items without those whose check an earlier one makes."""
    kept: list[ChecklistItem] = []
    for item in items:
        if all(item.check != other.check for other in kept):
            kept.append(item)
    return kept


def _call_item(number: int, call: Call) -> ChecklistItem:
    return ChecklistItem(
        id=f"call-{number}",
        question=f"Did the assistant call {call.name} with the right arguments?",
        focus_on="assistant.tool_calls",
        pass_condition=f"A call to {call.name} has exactly the arguments in the evidence.",
        weight=1,
        required_for_next_turn=True,
        evidence=(_snippet(json.dumps({**call.arguments}, ensure_ascii=False)),),
        check=_made(call),
    )


def _made(call: Call) -> CallMade:
    return CallMade(name=call.name, arguments=call.arguments)


def _result_item(number: int, call: Call, result: JsonValue, made_by: str) -> ChecklistItem | None:
    fields = [*result.items()] if isinstance(result, dict) else []
    short = {key: value for key, value in fields if _is_value(value)}
    if not short:
        return None
    first = dict([*short.items()][:MAX_FIELDS])
    return ChecklistItem(
        id=f"result-{number}",
        question=f"Did {call.name} respond with the recorded {_and(tuple(first))}?",
        focus_on="tool.content",
        pass_condition=f"A response of {call.name} is an object with the fields in the evidence.",
        weight=1,
        evidence=(_snippet(json.dumps(first, ensure_ascii=False)),),
        dependence=(made_by,),
        check=ObservationHas(name=call.name, fields=first),
    )


def _only_item(recorded: _Recorded) -> ChecklistItem:
    names = tuple(sorted({call.name for call, _ in recorded.calls}))
    asked = f"no tool but {_and(names)}" if names else "no tool"
    return ChecklistItem(
        id="only-calls",
        question=f"Did the assistant call {asked}?",
        focus_on="assistant.tool_calls",
        pass_condition=f"The assistant calls {asked} in this turn.",
        weight=1,
        check=OnlyCalls(names=names),
    )


def _reply_item(number: int, texts: tuple[str, ...], made: tuple[str, ...]) -> ChecklistItem:
    said = " or ".join(f"'{text}'" for text in texts)
    return ChecklistItem(
        id=f"reply-{number}",
        question=f"Does the reply say {said}?",
        focus_on="assistant.content.user_visible_reply",
        pass_condition=f"The reply contains {said}, letter case aside.",
        weight=1,
        evidence=tuple(map(_snippet, texts)),
        dependence=made,
        check=ReplyHas(any_of=texts),
    )


def _reply_texts(recorded: _Recorded, tools: Sequence[Tool]) -> list[tuple[str, ...]]:
    """For each item of the reply: the texts of which it must hold one, as the recorded one does."""
    reply = recorded.reply
    found: list[tuple[str, ...]] = [(value,) for value in _mentioned(recorded)[:MAX_VALUES]]
    if any(says(reply, word) for word in CANNOT):
        found.append(CANNOT)
    elif not recorded.calls and "?" in reply:
        named = {*chain.from_iterable(_parameters(tool) for tool in tools)}
        asked = tuple(sorted(name for name in named if says(reply, name))) or ("?",)
        found += [asked] if says(reply, asked[0]) else []
    return found


def _mentioned(recorded: _Recorded) -> list[str]:
    """Values of results and arguments in the reply, those that the user has not said first."""
    leaves = chain(
        chain.from_iterable(_leaves(result) for _, result in recorded.calls),
        chain.from_iterable(_leaves({**call.arguments}) for call, _ in recorded.calls),
    )
    texts = dict.fromkeys(str(value) for value in leaves)
    telling = [text for text in texts if _tells(text) and says(recorded.reply, text)]
    return sorted(telling, key=lambda text: says(recorded.user, text))


def _tells(text: str) -> bool:
    """Is it an id, date or number, or one longer word such as a status?"""
    if not 1 < len(text) <= MAX_TEXT or len(text.split()) > 2:
        return False
    return any(map(str.isdigit, text)) or (len(text) > 3 and text.isalpha() and text.islower())


def _leaves(value: JsonValue) -> Iterator[str | int | float]:
    """The short scalars inside a JSON value, in order."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def _is_value(value: JsonValue) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)


def _parameters(tool: Tool) -> tuple[str, ...]:
    properties = tool.parameters.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


def _json(text: str) -> JsonValue:
    """The value of a tool message; its text when it is not JSON."""
    try:
        return loads(text)
    except ValueError:
        return text


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _snippet(text: str) -> str:
    return text if len(text) <= MAX_EVIDENCE else text[: MAX_EVIDENCE - 1] + "…"
