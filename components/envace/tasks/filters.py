"""A filter is a pure function of a task and its limits: a reason to drop it, or None."""

from collections.abc import Callable

from envace.tasks.task import Task


def within_tokens(task: Task, count: Callable[[Task], int], limit: int) -> str | None:
    """Drops a task that `count` says takes more than `limit` tokens."""
    tokens = count(task)
    return f"too_long: {tokens:,} tokens, limit {limit:,}" if tokens > limit else None
