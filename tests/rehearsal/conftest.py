"""A renderer over bytes and a shop of two tools."""

import pytest

from envace.episode import Tool
from envace.inference.chat import ChatML
from tests.fixtures.speech import FIND, RENDERER


@pytest.fixture(scope="session")
def renderer() -> ChatML:
    return RENDERER


@pytest.fixture(scope="session")
def tools() -> tuple[Tool, ...]:
    """Finds an order by its number, or cancels it for one of two reasons."""
    cancel = Tool(
        name="cancel_order",
        parameters={
            "type": "object",
            "properties": {
                "order": {"type": "integer"},
                "reason": {"type": "string", "enum": ["late", "broken"]},
            },
            "required": ["order"],
            "additionalProperties": False,
        },
    )
    return FIND, cancel
