"""Source: chat completions with tools, as any team's client or proxy logs them.

Source: your own files.
License: yours.
Schema: one record a conversation, `{"messages": […], "tools": […]}` in OpenAI's form, or one a
request, `{"request": {…}, "response": {"choices": [{"message": …}]}}`; fields may have other names,
and both lists may be JSON text.
Size: yours.

Parallel calls, arguments as text or object, `null` content and the older `function_call` are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from envace.artifacts import Cache
from envace.tasks.source import Part, Rejected, Source
from envace.tasks.sources._chat import About, task_of
from envace.tasks.sources._files import FileConfig, Files
from envace.tasks.task import Task


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
    return OpenAIChat(config, Files(config.files, cache))


@dataclass(frozen=True)
class OpenAIChat:
    """Logged conversations as tasks."""

    config: Config
    files: Files

    def parts(self) -> Sequence[Part]:
        """Pieces of the files; see `Files.parts`."""
        return self.files.parts()

    def read(self, part: Part) -> Iterator[Task | Rejected]:
        """Every record of the piece."""
        for place, record in self.files.rows(part):
            if isinstance(record, str):
                yield Rejected("openai_chat", place, record)
            else:
                yield self._task(record, place)

    def _task(self, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
        fields, chosen = _paired(record), self.config
        about = About(
            source="openai_chat",
            place=place,
            id=_word(fields.get(chosen.id_field)),
            domain=_word(fields.get(chosen.domain_field)) or chosen.domain,
            family=_word(fields.get(chosen.family_field)) or chosen.family,
        )
        tools = fields.get(chosen.tools_field) or fields.get("functions")
        return task_of(fields.get(chosen.messages_field), tools, about)


def _paired(record: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The record; of a request with its response, the request with the reply at its end."""
    request, response = record.get("request"), record.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        return record
    asked, choices = request.get("messages"), response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reply = first.get("message") if isinstance(first, dict) else None
    if not isinstance(asked, list) or not isinstance(reply, dict):
        return {**record, **request}
    return {**record, **request, "messages": [*asked, reply]}


def _word(value: JsonValue) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
