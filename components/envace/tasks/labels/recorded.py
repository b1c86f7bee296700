"""Checklists from a recording: what its calls, results and replies show, as items a rule decides.

One idea: the recording is the evidence. Nothing is known about the source but its messages, so a
recording of any tools becomes items in CM2's form (arXiv 2602.12268) without a judge. The recording
itself passes all of them, and a turn in which nothing is called or said passes none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import fsum

from pydantic import JsonValue

from envace.episode import Call, Message, Tool
from envace.strict_json import canonical, shared
from envace.tasks.labels.calls import changes, failed, parameters, prose, sets
from envace.tasks.labels.facts import MAX_TEXT, mentioned
from envace.tasks.task import CallMade, ChecklistItem, ObservationHas, OnlyCalls, ReplyHas, says
from envace.worlds.world import CANNOT

CALLS, RESULTS, ONLY, REPLY = 0.5, 0.2, 0.1, 0.2
"""Shares of a turn's score; what is absent leaves its share to the others in proportion."""
READ = 0.5
"""What a call that only reads, and its result, weighs beside one that changed something."""
MAX_CALLS = 8
"""Calls of a turn that items ask for: the same end may be reached by other reads."""
MAX_RESULTS = 4
"""Results of a turn that items ask for."""
MAX_FIELDS = 4
"""Fields of a result that an item asks for."""
MAX_VALUES = 3
"""Values of a reply that items ask for."""
MAX_EVIDENCE = 200
"""Characters of a snippet."""
_UNITS = 2**50
CHECK_CODES = ("INVALID_TOOL_CALL_FORMAT", "TOOL_NOT_AVAILABLE", "INVALID_PARAMETERS")
"""Codes of the checks that stand before every environment."""


@dataclass(frozen=True)
class _Made:
    """A call that reached the environment."""

    item: str
    """Id of the item that asks for it; equal calls have the same."""
    call: Call
    result: JsonValue
    check: CallMade
    changed: bool
    """Did it change something?"""


@dataclass(frozen=True)
class _Recorded:
    """What the recording shows after one user message."""

    user: str
    made: tuple[_Made, ...]
    names: tuple[str, ...]
    """Tools that it called, those included whose calls are no example."""
    reply: str


def checklists(
    conversation: Sequence[Message], tools: Sequence[Tool]
) -> tuple[tuple[ChecklistItem, ...], ...]:
    """One checklist for each user message; the weights of each sum to 1.

    A call that a check refused is no example, nor is one to a tool that is not among `tools`:
    neither could be made again. Of many calls those are asked for that changed something, the last
    ones first, then the first of those that read, on which the others build.
    """
    starts = [index for index, message in enumerate(conversation) if message.role == "user"]
    ends = [*starts[1:], len(conversation)]
    known = {tool.name: tool for tool in tools}
    return tuple(
        _checklist(_recorded(conversation[start:end], known), tools)
        for start, end in zip(starts, ends, strict=False)
    )


def is_refusal(result: JsonValue) -> bool:
    """Is it the error object of a check that stands before every environment?"""
    error = result.get("error") if isinstance(result, Mapping) else None
    return isinstance(error, Mapping) and error.get("code") in CHECK_CODES


def _recorded(messages: Sequence[Message], tools: Mapping[str, Tool]) -> _Recorded:
    made: list[_Made] = []
    ids: dict[str, str] = {}
    reply = ""
    for index, message in enumerate(messages):
        results = messages[index + 1 : index + 1 + len(message.calls)]
        for call, answer in zip(message.calls, results, strict=False):
            result = _json(answer.content)
            if call.name in tools and not is_refusal(result):
                check = _check(call, tools[call.name])
                item = ids.setdefault(_key(check), f"call-{len(ids) + 1}")
                changed = changes(call.name) and not failed(result)
                made.append(_Made(item, call, result, check, changed))
        if message.role == "assistant" and not message.calls:
            reply = message.content
    names = sorted({call.name for message in messages for call in message.calls})
    return _Recorded(messages[0].content, tuple(made), tuple(names), reply)


def _check(call: Call, tool: Tool) -> CallMade:
    return CallMade(
        name=call.name,
        arguments=call.arguments,
        loose=prose(call, tool),
        unordered=sets(call, tool),
    )


def _key(check: CallMade) -> str:
    """Equal for calls that the same item asks for."""
    exact = {name: value for name, value in check.arguments.items() if name not in check.loose}
    return canonical([check.name, exact, check.loose])


def _checklist(recorded: _Recorded, tools: Sequence[Tool]) -> tuple[ChecklistItem, ...]:
    made = _telling(recorded.made)
    needed = tuple(one.item for one in made if one.changed) or tuple(one.item for one in made)
    calls = [_call_item(one, one.item in needed) for one in made]
    said = _said(recorded, tools)
    parts = [
        (CALLS, calls),
        (RESULTS, _result_items(recorded, {one.item for one in made})),
        # A turn without calls is first of all a turn in which none may be made.
        (ONLY if calls else CALLS, [_only_item(recorded)]),
        (REPLY, [_reply_item(number, any_of, needed) for number, any_of in enumerate(said, 1)]),
    ]
    return weighed([(share, items) for share, items in parts if items])


def weighed(parts: Sequence[tuple[float, Sequence[ChecklistItem]]]) -> tuple[ChecklistItem, ...]:
    """The items of all parts, each part scaled to its share of a sum of 1.

    Weights are whole multiples of 2⁻⁵⁰, so that they add up to exactly 1 in any order.
    """
    total = fsum(share for share, _ in parts)
    items = [item for _, items in parts for item in items]
    units = [
        round(_UNITS * share / total * item.weight / fsum(other.weight for other in items))
        for share, items in parts
        for item in items
    ]
    units[units.index(max(units))] += _UNITS - sum(units)
    return tuple(
        item.model_copy(update={"weight": unit / _UNITS})
        for item, unit in zip(items, units, strict=True)
    )


def _telling(made: Sequence[_Made]) -> list[_Made]:
    """One call an item, `MAX_CALLS` of them at most: the last changes, then the first reads."""
    ranked = sorted(made, key=lambda one: one.changed)  # of equal calls one that changed something
    by_item = {one.item: one for one in ranked}
    made = [by_item[item] for item in dict.fromkeys(one.item for one in made)]
    changed = [one for one in made if one.changed][-MAX_CALLS:]
    reads = [one for one in made if not one.changed][: MAX_CALLS - len(changed)]
    chosen = {one.item for one in (*changed, *reads)}
    return [one for one in made if one.item in chosen]


def _call_item(one: _Made, required: bool) -> ChecklistItem:
    call, check = one.call, one.check
    free = "".join(
        (
            f"; any text is right as {_and(check.loose)}" if check.loose else "",
            f"; the order of {_and(check.unordered)} is free" if check.unordered else "",
        )
    )
    return ChecklistItem(
        id=one.item,
        question=f"Did the assistant call {call.name} with the right arguments?",
        focus_on="assistant.tool_calls",
        pass_condition=f"A call to {call.name} has exactly the arguments in the evidence{free}.",
        weight=1 if one.changed else READ,
        required_for_next_turn=required,
        evidence=(_snippet(json.dumps({**call.arguments}, ensure_ascii=False)),),
        check=check,
    )


def _result_items(recorded: _Recorded, asked: set[str]) -> list[ChecklistItem]:
    """The state that the last change left, and what the first other calls answered."""
    made = recorded.made
    last = max((index for index, one in enumerate(made) if one.changed), default=None)
    items = [] if last is None else [_final_item(made[last], made[:last])]
    items += [
        _result_item(f"result-{index + 1}", one, _values(one.result))
        for index, one in enumerate(made)
        if one.item in asked and index != last
    ]
    kept: list[ChecklistItem] = []
    for item in filter(None, items):
        if all(item.check != other.check for other in kept) and len(kept) < MAX_RESULTS:
            kept.append(item)
    return kept


def _final_item(last: _Made, before: Sequence[_Made]) -> ChecklistItem | None:
    """The last change's result, first the fields that no result before it showed."""
    shown = {(key, canonical(v)) for one in before for key, v in _values(one.result).items()}
    values = _values(last.result)
    ranked = sorted(values, key=lambda key: (key, canonical(values[key])) in shown)
    return _result_item("final-state", last, {key: values[key] for key in ranked})


def _result_item(name: str, one: _Made, values: Mapping[str, JsonValue]) -> ChecklistItem | None:
    if not values:
        return None
    first = dict(islice(values.items(), MAX_FIELDS))
    tool = one.call.name
    return ChecklistItem(
        id=name,
        question=f"Did {tool} respond with the recorded {_and(tuple(first))}?",
        focus_on="tool.content",
        pass_condition=f"A response of {tool} is an object with the fields in the evidence.",
        weight=1 if one.changed else READ,
        evidence=(_snippet(json.dumps(first, ensure_ascii=False)),),
        dependence=(one.item,),
        check=ObservationHas(name=tool, fields=first),
    )


def _only_item(recorded: _Recorded) -> ChecklistItem:
    names = recorded.names
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


def _said(recorded: _Recorded, tools: Sequence[Tool]) -> list[tuple[str, ...]]:
    """For each item of the reply: the texts of which it must hold one, as the recorded one does."""
    reply = recorded.reply
    values = chain(
        (one.result for one in recorded.made), ({**one.call.arguments} for one in recorded.made)
    )
    found = mentioned(values, reply, recorded.user)[:MAX_VALUES]
    if any(says(reply, word) for word in CANNOT):
        found.append(CANNOT)
    elif not recorded.made and "?" in reply:
        named = {*chain.from_iterable(map(parameters, tools))}
        asked = tuple(sorted(name for name in named if says(reply, name))) or ("?",)
        found += [asked] if says(reply, asked[0]) else []
    return found


def _values(result: JsonValue) -> dict[str, JsonValue]:
    """The fields of a result that are numbers, truth values or short texts."""
    fields = result if isinstance(result, dict) else {}
    return {
        key: value
        for key, value in fields.items()
        if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= MAX_TEXT)
    }


def _json(text: str) -> JsonValue:
    """The value of a tool message; its text when it is not JSON."""
    try:
        return shared(text)
    except ValueError:
        return text


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _snippet(text: str) -> str:
    return text if len(text) <= MAX_EVIDENCE else text[: MAX_EVIDENCE - 1] + "…"
