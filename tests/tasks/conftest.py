"""One small recorded conversation that is valid in every way; tests change one thing in it."""

from collections.abc import Callable
from typing import Any

import pytest

from envace.tasks.task import Task

TOOL: dict[str, Any] = {
    "name": "add_event",
    "description": "Adds an event.",
    "parameters": {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "hour": {"type": "integer", "minimum": 0, "maximum": 23},
        },
        "required": ["title", "day"],
        "additionalProperties": False,
    },
}
CALL: dict[str, Any] = {
    "name": "add_event",
    "arguments": {"title": "Lunch", "day": "2026-03-02", "hour": 12},
}
ITEM: dict[str, Any] = {
    "id": "made",
    "question": "Was the event added?",
    "focus_on": "assistant.tool_calls",
    "pass_condition": "add_event is called",
    "weight": 1.0,
    "check": {"kind": "call_made", **CALL},
}


def _task(**changes: Any) -> Task:
    conversation = [
        {"role": "user", "content": "Lunch on 2 March at noon, please."},
        {"role": "assistant", "calls": [changes.pop("call", CALL)]},
        {"role": "tool", "name": "add_event", "content": changes.pop("result", '{"id": "E1"}')},
        {"role": "assistant", "content": changes.pop("reply", "Done.")},
    ]
    fields = {
        "id": "calendar-0",
        "source": "worlds",
        "domain": "calendar",
        "tier": "one_call",
        "system": "You keep a calendar.",
        "tools": [TOOL],
        "conversation": conversation,
        "checklists": [[ITEM]],
    }
    return Task.model_validate({**fields, **changes})


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """Builds the valid task with the given fields changed (`call`, `result`, `reply` too)."""
    return _task
