"""Source: Salesforce's APIGen-MT, multi-turn conversations that were made and then verified.

Source: Hugging Face `Salesforce/APIGen-MT-5k`, one JSON array (its page asks for consent).
License: CC-BY-NC-4.0: not for commercial use.
Schema: `conversations` of `{"from": …, "value": …}`, from "human", "gpt", "function_call" or
"observation"; `tools` (a list as JSON text); `system`.
Size: 5,000 conversations, in the retail and airline domains of tau-bench.

A call is `{"name": …, "arguments": …}` as JSON text; calls to `think` hold thoughts, not deeds, and
go with what answers them.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from pydantic import JsonValue

from envace.artifacts import Cache
from envace.strict_json import dumps, loads
from envace.tasks.source import Rejected, Source
from envace.tasks.sources._chat import About, task_of
from envace.tasks.sources._files import FileConfig, Files, Records
from envace.tasks.task import Task

NAME = "apigen_mt"
ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}


class Config(FileConfig):
    """Which files, and what their tasks are called."""

    domain: str = "apigen_mt"
    """Domain of the tasks, for slices."""


def build(config: Config, cache: Cache) -> Source:
    """The conversations of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config.domain))


def _task(domain: str, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
    said = record.get("conversations")
    if not isinstance(said, list):
        return Rejected(NAME, place, "bad_messages: it has no list of conversations")
    system = record.get("system")
    first = [{"role": "system", "content": system}] if isinstance(system, str) else []
    messages = [*first, *_messages(said)]
    return task_of(messages, record.get("tools"), About(NAME, place, domain=domain))


def _messages(said: list[JsonValue]) -> Iterator[JsonValue]:
    """The turns in OpenAI's form, without thoughts; what has another form stays as it is."""
    thinking = False
    for turn in said:
        kind = turn.get("from") if isinstance(turn, dict) else None
        if not isinstance(turn, dict) or not isinstance(kind, str) or kind not in ROLES:
            yield {"role": kind, "content": None}
            continue
        value = turn.get("value")
        call = _call(value) if kind == "function_call" else None
        if call == "think" or (thinking and kind == "observation"):
            thinking = call == "think"
            continue
        thinking = False
        if kind == "function_call":
            yield {"role": "assistant", "content": None, "tool_calls": call}
        else:
            yield {"role": ROLES[kind], "content": value}


def _call(value: JsonValue) -> JsonValue:
    """Calls in OpenAI's form, `think`, or the value itself where it is none."""
    try:
        found = loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
    calls = found if isinstance(found, list) else [found]
    if not calls or not all(isinstance(call, dict) and "name" in call for call in calls):
        return value
    if all(isinstance(call, dict) and call["name"] == "think" for call in calls):
        return "think"
    return [
        {"function": {**call, "arguments": _arguments(call)}}
        for call in calls
        if isinstance(call, dict)
    ]


def _arguments(call: Mapping[str, JsonValue]) -> JsonValue:
    arguments = call.get("arguments")
    return arguments if isinstance(arguments, str) else dumps(arguments)
