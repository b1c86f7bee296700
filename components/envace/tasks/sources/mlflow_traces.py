"""Source: traces of chat models, as MLflow exports them.

Source: `mlflow.search_traces()`, written with `to_json(path, orient="records", lines=True)`, or its
column `[["trace"]]` with `to_parquet(path)`; or each `trace.to_json()` as one line.
License: yours.
Schema: `info` (`trace_id`, `state`, `tags`) and `data.spans`, whose attributes hold the inputs and
outputs of each call as JSON text; a table has the same as text in its column `trace`.
Size: yours.

An agent asks its model many times in one trace, each time with all that went before, so the task is
the longest conversation among the spans, with the reply to it.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from envace.artifacts import Cache
from envace.strict_json import loads
from envace.tasks.source import Rejected, Source
from envace.tasks.sources._chat import About, Refused, task_of
from envace.tasks.sources._files import MAX_LINE, FileConfig, Files, Records
from envace.tasks.sources.openai_chat import replied
from envace.tasks.task import Task

NAME = "mlflow_traces"
Object = Mapping[str, JsonValue]


class Config(FileConfig):
    """Which files, and where a trace says what it is about."""

    domain_tag: str = "domain"
    """Tag of a trace that holds its domain."""
    family_tag: str = "family"
    """Tag of a trace that holds the family of its tools."""
    domain: str = "chat"
    """Domain of traces that say none."""
    family: str = ""
    """Family of the tools of traces that say none; empty: each tool is a family of its own."""


def build(config: Config, cache: Cache) -> Source:
    """The traces of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config))


def _task(config: Config, record: Object, place: str) -> Task | Rejected:
    try:
        trace = _json(record, "trace") if "trace" in record else record
        info, data = _object(trace, "info"), _object(trace, "data")
        _check_state(info)
        asked, response, tools = _longest(data)
        _check_fault(response)
    except Refused as error:
        return Rejected(NAME, place, str(error))
    tags = info.get("tags")
    tags = tags if isinstance(tags, dict) else {}
    about = About(
        source=NAME,
        place=place,
        id=_text(info.get("trace_id")) or _text(info.get("request_id")),
        domain=_text(tags.get(config.domain_tag)) or config.domain,
        family=_text(tags.get(config.family_tag)) or config.family,
    )
    return task_of([*asked, *replied(response)], tools, about)


def _check_state(info: Object) -> None:
    state = info.get("state", info.get("status"))  # `status` in MLflow 2
    if state != "OK":
        raise Refused(f"failed_trace: its state is {str(state)[:40]!r}, expected 'OK'")


def _check_fault(response: Object) -> None:
    """Our own server gives a bad output as text and says in `envace` what is wrong with it."""
    cost = response.get("envace")
    if isinstance(cost, dict) and cost.get("fault"):
        raise Refused(f"fault: the served output was {str(cost['fault'])[:40]}")


def _longest(data: Object) -> tuple[list[JsonValue], Object, JsonValue]:
    """Messages, response and tools of the span with the most messages; of equals the last."""
    spans = data.get("spans")
    found: tuple[list[JsonValue], Object, JsonValue] | None = None
    for span in spans if isinstance(spans, list) else []:
        if not isinstance(span, dict):
            raise Refused(f"bad_trace: a span is {type(span).__name__}, expected an object")
        attributes = _object(span, "attributes")
        asked = _json(attributes, "mlflow.spanInputs")
        messages = asked.get("messages")
        if isinstance(messages, list) and len(messages) >= (len(found[0]) if found else 1):
            tools = asked.get("tools") or attributes.get("mlflow.chat.tools")
            found = messages, _json(attributes, "mlflow.spanOutputs"), tools
    if found is None:
        raise Refused("no_chat: no span has messages among its inputs")
    return found


def _json(record: Object, key: str) -> Object:
    """The object that stands in a field as JSON text; what is no object is an empty one."""
    value = record.get(key)
    try:
        value = loads(value, MAX_LINE) if isinstance(value, str) else value
    except ValueError as error:
        raise Refused(f"bad_json: {key} cannot be read ({error})") from None
    return value if isinstance(value, dict) else {}


def _object(record: Object, key: str) -> Object:
    value = record.get(key)
    if not isinstance(value, dict):
        raise Refused(f"bad_trace: its {key} is {type(value).__name__}, expected an object")
    return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
