"""Source: the tool-calling split of NVIDIA's Nemotron-Post-Training-Dataset-v1.

Source: Hugging Face `nvidia/Nemotron-Post-Training-Dataset-v1`, `data/tool-*.parquet`.
License: CC-BY-4.0; each row has its own `license` field beside it.
Schema: `uuid`, `messages` (role, content, tool_calls with arguments as text; results carry no id
and follow their calls in order), `metadata` (JSON text, in which `tools` is OpenAI's list).
Size: 310,051 rows, 6.4 GB as text.

With `reasoning` on, a reply opens with its thoughts in think tags; they stay where they are. Every
record has tools of its own.
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

NAME = "nemotron_tool_calling"


class Config(FileConfig):
    """Which files of the split, and what its tasks are called."""

    domain: str = "tool_calling"
    """Domain of the tasks, for slices."""


def build(config: Config, cache: Cache) -> Source:
    """The rows of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config.domain))


def _task(domain: str, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
    uuid, metadata = record.get("uuid"), record.get("metadata")
    try:
        about = loads(metadata) if isinstance(metadata, str) else metadata
    except ValueError as error:
        return Rejected(NAME, place, f"bad_json: metadata cannot be read ({error})")
    if not isinstance(about, dict) or "tools" not in about:
        return Rejected(NAME, place, "no_tools: metadata names no tools, expected its list of them")
    own = uuid if isinstance(uuid, str) else ""
    return task_of(record.get("messages"), about["tools"], About(NAME, place, own, domain))
