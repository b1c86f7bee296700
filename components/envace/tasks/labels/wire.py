"""What an OpenAI-compatible endpoint answers, as far as it is read."""

import re
from email.utils import parsedate_to_datetime
from time import time

from pydantic import BaseModel, Field, JsonValue

from envace.strict_json import loads

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


class Usage(BaseModel):
    """Tokens of a request, as the endpoint counts them."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class Completion(BaseModel):
    """The part of a chat completion that is read."""

    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: Usage | None = None


NOTHING = Usage(prompt_tokens=0, completion_tokens=0)
"""Of a request that was not served."""


def read_json(text: str) -> JsonValue:
    """The JSON of an answer, out of a Markdown fence and behind a `<think>` block if need be.

    Raises `ValueError` in one clause when there is none.
    """
    bare = text.rpartition("</think>")[2].strip()
    fenced = _FENCE.fullmatch(bare)
    return loads(fenced[1] if fenced else bare)


def seconds(retry_after: str) -> float | None:
    """How long a `Retry-After` asks to wait: seconds, or a date."""
    if re.fullmatch(r"\d{1,9}", retry_after):
        return int(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time(), 0)
    except (ValueError, OverflowError):
        return None
