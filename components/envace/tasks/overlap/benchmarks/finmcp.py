"""Items of FinMCP-Bench, from a file of `DianJin/FinMCP-Bench` (CC-BY-NC-SA-4.0): one JSON list.

The messages of an item are its recording, with the calls that are right.
"""

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable

from envace.episode import Call
from envace.strict_json import loads
from envace.tasks.overlap.benchmarks.item import Item


def items(file: Traversable) -> Iterator[Item]:
    """Every item of the file."""
    for row in json.loads(file.read_text(encoding="utf-8")):
        said = tuple(m["content"] for m in row["messages"] if m["role"] == "user")
        made = [call["function"] for m in row["messages"] for call in m.get("tool_calls") or ()]
        calls = (
            Call.model_validate({"name": one["name"], "arguments": loads(one["arguments"])})
            for one in made
        )
        yield Item(f"{row['id']}", said, tuple((call,) for call in calls))
