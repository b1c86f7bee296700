"""Source: conversations with checklists annotated by a model: CM2 (arXiv 2602.12268).

Source: Hugging Face `namezz/Checklist`, or what the annotation step of
`namezhenzhang/CM2-RLCR-Tool-Agent` writes (a JSON array, or Parquet).
License: the repository names none; the conversations are of Nemotron, which is CC-BY-4.0.
Schema: `uuid`, `messages`, `tools` (a list or its JSON text), `checklists`: the items of each user
message, in one more list. The form that verl trains on, where the whole conversation stands in
`extra_info`, is read too.
Size: 8,000 conversations train in the paper.

The items are kept as they are annotated. None has a rule that decides it, so a judge must. Weights
that miss a sum of 1 by rounding are scaled to it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import fsum

from pydantic import JsonValue, ValidationError

from envace.artifacts import Cache
from envace.tasks.labels.recorded import weighed
from envace.tasks.source import Rejected, Source
from envace.tasks.sources._chat import About, Refused, task_of
from envace.tasks.sources._files import FileConfig, Files, Records
from envace.tasks.task import ChecklistItem, Task

NAME = "cm2"
ROUNDING = 0.02
"""How far from 1 the weights of a turn may sum: they are written with two digits."""


class Config(FileConfig):
    """Which files, and what their tasks are called."""

    domain: str = "tool_calling"
    """Domain of the tasks, for slices."""


def build(config: Config, cache: Cache) -> Source:
    """The records of the files as a source."""
    return Records(NAME, Files(config.files, cache), partial(_task, config.domain))


def _task(domain: str, record: Mapping[str, JsonValue], place: str) -> Task | Rejected:
    extra = record.get("extra_info")
    whole = {**record, **extra} if isinstance(extra, dict) and "messages" in extra else record
    uuid, messages = record.get("uuid"), whole.get("messages")
    try:
        labels = _labels(record, messages)
    except Refused as error:
        return Rejected(NAME, place, str(error))
    own = uuid if isinstance(uuid, str) else ""
    return task_of(messages, whole.get("tools"), About(NAME, place, own, domain), labels)


def _labels(
    record: Mapping[str, JsonValue], messages: JsonValue
) -> tuple[tuple[ChecklistItem, ...], ...]:
    labels = tuple(_checklist(items, turn) for turn, items in enumerate(_turns(record)))
    listed = messages if isinstance(messages, list) else []
    turns = sum(isinstance(one, dict) and one.get("role") == "user" for one in listed)
    if turns != len(labels):
        raise Refused(f"checklists: {len(labels)} for {turns} user messages, expected one each")
    return labels


def _turns(record: Mapping[str, JsonValue]) -> Sequence[JsonValue]:
    """For each user message its items, with or without the list around all."""
    found = record.get("checklists")
    while isinstance(found, list) and len(found) == 1 and _nested(found[0]):
        found = found[0]
    if not isinstance(found, list) or not found:
        raise Refused("checklists: got none, expected a list of items for each user message")
    return found


def _nested(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list)


def _checklist(items: JsonValue, turn: int) -> tuple[ChecklistItem, ...]:
    if not isinstance(items, list) or not items:
        raise Refused(f"checklists: turn {turn} has no items")
    try:
        found = [ChecklistItem.model_validate(_item(item, turn)) for item in items]
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Refused(f"checklists: turn {turn}: {where}: {first['msg'].lower()}") from None
    total = fsum(item.weight for item in found)
    if abs(total - 1) > ROUNDING + 1e-9:
        raise Refused(f"checklists: the weights of turn {turn} sum to {total:g}, expected 1")
    return weighed([(1, found)])


def _item(item: JsonValue, turn: int) -> Mapping[str, JsonValue]:
    """The fields that a checklist item has here; of the evidence its text is kept."""
    if not isinstance(item, dict):
        raise Refused(f"checklists: an item of turn {turn} is no object")
    fields = ChecklistItem.model_fields.keys() - {"check"}
    kept = {key: value for key, value in item.items() if key in fields and value is not None}
    evidence = kept.get("evidence")
    if isinstance(evidence, list):
        kept["evidence"] = [
            one.get("snippet", "") if isinstance(one, dict) else one for one in evidence
        ]
    return kept
