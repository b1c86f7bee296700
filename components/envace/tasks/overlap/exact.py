"""Two tasks are the same when their tools and conversations are, whatever they are called.

The hash is taken over canonical JSON: neither the order of keys nor that of tools matters.
"""

import hashlib
import json
from collections.abc import Iterable

from envace.tasks.source import Rejected
from envace.tasks.task import Task


def content_hash(task: Task) -> str:
    """SHA-256 (hex) of what is said, called, answered and offered."""
    tools = sorted(task.tools, key=lambda tool: tool.name)
    parts = [
        [part.model_dump(mode="json") for part in parts] for parts in (tools, task.conversation)
    ]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def exact(tasks: Iterable[Task]) -> tuple[tuple[Task, ...], tuple[Rejected, ...]]:
    """The first task of each content and of each id, and a rejection for every other."""
    kept: dict[str, Task] = {}
    ids: set[str] = set()
    rejected: list[Rejected] = []
    for task in tasks:
        key = content_hash(task)
        if key in kept:
            rejected.append(Rejected(task.source, task.id, f"duplicate_of: {kept[key].id}"))
        elif task.id in ids:
            reason = f"duplicate_id: '{task.id}' names a task with other content"
            rejected.append(Rejected(task.source, task.id, reason))
        else:
            kept[key] = task
            ids.add(task.id)
    return tuple(kept.values()), tuple(rejected)
