"""A file of chat completions as large as asked, made by a seeded draw from the real tau2 tasks.

Each record is a recorded task with other numbers in it: every run of four or more digits becomes
another one, the same all over the record. So ids, prices and dates differ while the record holds
together. Out of 100 records, 2 repeat an earlier one, 2 repeat one but for a word, and 8 are broken
in one of eight ways, whose reasons are known.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from envace.tasks.task import Task

Record = dict[str, Any]
DIGITS = re.compile(r"(?<![\\u\d])[1-9]\d{3,}")


def write(path: Path, tasks: Sequence[Task], count: int, seed: int = 0) -> None:
    """Writes `count` records as JSON Lines."""
    draw = random.Random(seed)
    plain = [json.dumps(record_of(task), ensure_ascii=False) for task in tasks]
    with path.open("w", encoding="utf-8") as file:
        for text in lines(plain, count, draw):
            file.write(text + "\n")


def lines(plain: Sequence[str], count: int, draw: random.Random) -> Iterator[str]:
    """The records as JSON, one a line."""
    earlier: list[str] = []
    for number in range(count):
        kind = draw.random()
        if kind < 0.04 and earlier:
            text = draw.choice(earlier)
            text = text if kind < 0.02 else text.replace(". ", ". So ", 1)
        else:
            text = _renumbered(draw.choice(plain), draw)
        if len(earlier) < 1_000:
            earlier.append(text)
        if kind > 0.92:
            text = draw.choice(BREAKS)(text)
        yield text.replace('"id": "', f'"id": "{number}/', 1)


def record_of(task: Task) -> Record:
    """The task as a request that a client would log: OpenAI's form, tools as JSON text."""
    messages: list[Record] = [{"role": "system", "content": task.system, "tool_calls": []}]
    waiting: list[str] = []
    for message in task.conversation:
        shown: Record = {"role": message.role, "content": message.content, "tool_calls": []}
        if message.role == "tool":
            shown["tool_call_id"] = waiting.pop(0)
        for call in message.calls:
            waiting.append(f"call_{len(messages)}_{len(waiting)}")
            function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
            made = {"id": waiting[-1], "type": "function", "function": function}
            shown["tool_calls"].append(made)
        messages.append(shown)
    tools = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in task.tools]
    return {"id": task.id, "messages": messages, "tools": json.dumps(tools)}


def _renumbered(text: str, draw: random.Random) -> str:
    key = draw.getrandbits(32)

    def other(found: re.Match[str]) -> str:
        digits = found.group().encode()
        low = 10 ** (len(digits) - 1)
        return str(low + (crc32(digits, key) << 32 | crc32(digits[::-1], key)) % (9 * low))

    return DIGITS.sub(other, text)


def _changed(change: Callable[[Record], None]) -> Callable[[str], str]:
    def apply(text: str) -> str:
        record = json.loads(text)
        change(record)
        return json.dumps(record, ensure_ascii=False)

    return apply


def _without_reply(record: Record) -> None:
    record["messages"][-1]["content"] = " "


def _two_users(record: Record) -> None:
    record["messages"].insert(1, record["messages"][1])


def _unknown_tool(record: Record) -> None:
    _first_call(record)["name"] = "launch_rocket"


def _bad_arguments(record: Record) -> None:
    _first_call(record)["arguments"] = '{"surely_no_parameter": [1]}'


def _tool_twice(record: Record) -> None:
    tools = json.loads(record["tools"])
    record["tools"] = json.dumps([*tools, tools[0]])


def _open_think(record: Record) -> None:
    record["messages"][-1]["content"] = "<think> I wonder. Done."


def _call_in_text(record: Record) -> None:
    record["messages"][-1]["content"] = '<tool_call>{"name": "x", "arguments": {}}</tool_call>'


def _bad_schema(record: Record) -> None:
    tools = json.loads(record["tools"])
    tools[0]["function"]["parameters"]["properties"] = {"x": {"type": "strnig"}}
    record["tools"] = json.dumps(tools)


def _first_call(record: Record) -> Record:
    return next(m for m in record["messages"] if m["tool_calls"])["tool_calls"][0]["function"]


BREAKS = [
    _changed(change)
    for change in (
        _without_reply,
        _two_users,
        _unknown_tool,
        _bad_arguments,
        _tool_twice,
        _open_think,
        _call_in_text,
        _bad_schema,
    )
]
