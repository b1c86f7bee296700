"""Source: chat completions with tools, as any team's client or proxy logs them.

Source: your own files.
License: yours.
Schema: one record a conversation, `{"messages": […], "tools": […]}` in OpenAI's form, or one a
request, `{"request": {…}, "response": {"choices": [{"message": …}]}}`; fields may have other names,
and both lists may be JSON text.
Size: yours.

Parallel calls, arguments as text or object, `null` content and the older `function_call` are read.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from envace.artifacts import Cache
from envace.strict_json import loads
from envace.tasks.source import Rejected, Source
from envace.tasks.sources._chat import About, task_of
from envace.tasks.sources._files import FileConfig, Files, Records
from envace.tasks.task import Task

NAME = "openai_chat"


class Config(FileConfig):
    """Which files, and what their fields are called."""

    messages_field: str = "messages"
    """The conversation."""
    tools_field: str = "tools"
    """The tools on offer."""
    id_field: str = "id"
    """What names the record; without it a hash of its content does."""
    domain_field: str = "domain"
    """What the conversation is about, for slices."""
    family_field: str = "family"
    """The family that its tools belong to."""
    domain: str = "chat"
    """Domain of records that say none."""
    family: str = ""
    """Family of the tools of records that say none; empty: each tool is a family of its own."""


def build(config: Config, cache: Cache) -> Source:
    """The records of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config))


def replied(response: Mapping[str, JsonValue]) -> tuple[JsonValue, ...]:
    """The message of a chat completion's first choice; none where it holds none."""
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return (message,) if isinstance(message, dict) else ()


def _task(config: Config, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
    fields = _paired(config, record)
    about = About(
        source=NAME,
        place=place,
        id=_word(fields.get(config.id_field)),
        domain=_word(fields.get(config.domain_field)) or config.domain,
        family=_word(fields.get(config.family_field)) or config.family,
    )
    tools = fields.get(config.tools_field) or fields.get("functions")
    return task_of(fields.get(config.messages_field), tools, about)


def _paired(config: Config, record: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The record; of a request with its response, the request with the reply at its end."""
    request, response = (_object(record.get(key)) for key in ("request", "response"))
    asked = request.get(config.messages_field)
    if not isinstance(asked, list):
        return record
    return {**record, **request, config.messages_field: [*asked, *replied(response)]}


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    """An object, which may be written as JSON text; anything else is an empty one."""
    try:
        value = loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _word(value: JsonValue) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
