"""Played gold solutions as tasks: what is said, called and answered, with the tools on offer."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from envace.episode import Call, Message, Record, Tool
from envace.errors import TaskError
from envace.strict_json import dumps, loads
from envace.tasks.labels.recorded import checklists
from envace.tasks.source import Rejected
from envace.tasks.task import Task

SYSTEM = {
    "retail": (
        "You serve the customers of an online shop. Find the customer and the order before you "
        "change anything. Say only what a tool has told you."
    ),
    "airline": (
        "You serve the customers of an airline. Find the customer and the reservation before you "
        "change anything. Say only what a tool has told you."
    ),
    "telecom": (
        "You resolve tickets of a phone company. You can use its records and the customer's phone. "
        "Say only what a tool has told you."
    ),
}
MAX_SAID = 80
"""Characters of a result that a reply repeats."""
_FIRST_PERSON = (
    (r"\b(asks|help|saves|tell|give|for|to|with|from) you\b", r"\1 me"),
    (r"\byou(?:'re| are)\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byou name\b", "my name"),
    (r"\byour\b", "my"),
    (r"\byou\b", "I"),
)


class _Action(Record):
    """A gold call, played."""

    name: str
    arguments: Mapping[str, JsonValue]
    result: str
    error: bool


class _Gold(Record):
    """A task with its gold solution, as the worker prints it."""

    id: str
    reason_for_call: str
    known_info: str
    task_instructions: str
    actions: tuple[_Action, ...]
    communicate_info: tuple[str, ...]
    ticket: str = ""
    """In solo mode, what the agent is asked; the fields above are for a user then."""
    failed_assertions: tuple[str, ...] = ()


class _Header(Record):
    """What all tasks share."""

    policy: str
    tools: tuple[Tool, ...]


@dataclass(frozen=True)
class Offer:
    """What a task shows of its domain."""

    domain: str
    extra_tools: int
    terse_tools: bool
    full_policy: bool
    seed: int


def tasks(lines: Sequence[str], offer: Offer) -> Iterator[Task | Rejected]:
    """What the worker printed, as tasks; the first line is the header.

    Raises `TaskError` for a line that it did not print.
    """
    try:
        first, *rest = lines
        header = _Header.model_validate_json(first)
        golds = [_Gold.model_validate_json(line) for line in rest]
    except (ValidationError, ValueError) as error:
        raise TaskError(
            f"the played tasks of tau2 cannot be read ({str(error).splitlines()[0]}); "
            "expected what its worker prints: give the source that hash."
        ) from None
    for gold in golds:
        if reason := _reason(gold):
            yield Rejected("tau2_gold", f"{offer.domain}/{gold.id}", reason)
        else:
            yield _task(gold, header, offer)


def _reason(gold: _Gold) -> str | None:
    """Why a gold solution is no recording to learn from."""
    if not gold.actions:
        return "no_call: its gold solution makes none"
    if failed := next((action for action in gold.actions if action.error), None):
        return f"failed_call: {failed.name} answered '{failed.result}'"
    if gold.failed_assertions:
        return f"failed_assertion: {gold.failed_assertions[0]} does not hold in the end"
    return None


def _task(gold: _Gold, header: _Header, offer: Offer) -> Task:
    tools = _candidates(gold, header.tools, offer)
    conversation = _conversation(gold)
    return Task(
        id=f"tau2_gold/{offer.domain}/{gold.id}",
        source="tau2_gold",
        domain=f"tau2_{offer.domain}",
        tier=_tier(gold),
        family=f"tau2_{offer.domain}",
        system=header.policy if offer.full_policy else SYSTEM[offer.domain],
        tools=tools,
        conversation=conversation,
        checklists=checklists(conversation, tools),
    )


def _tier(gold: _Gold) -> str:
    """The kind of issue where the id says it, else whether one call is enough."""
    if gold.ticket and (found := re.match(r"\[(\w+)\]", gold.id)):
        return found[1]
    return "one_call" if len(gold.actions) == 1 else "several_calls"


def _candidates(gold: _Gold, tools: tuple[Tool, ...], offer: Offer) -> tuple[Tool, ...]:
    """The tools of the solution and a few others, in an order that does not tell them apart."""
    used = {action.name for action in gold.actions}

    def rank(tool: Tool) -> str:
        return hashlib.sha256(f"{offer.seed} {gold.id} {tool.name}".encode()).hexdigest()

    ranked = sorted(tools, key=rank)
    others = [tool.name for tool in ranked if tool.name not in used][: offer.extra_tools]
    chosen = (tool for tool in ranked if tool.name in {*used, *others})
    return tuple(_shortened(tool, offer.terse_tools) for tool in chosen)


def _shortened(tool: Tool, terse: bool) -> Tool:
    """Without the titles that repeat the names; if `terse`, without most of the prose too."""
    prose = ("title", "description") if terse else ("title",)

    def without_prose(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return {k: v for k, v in schema.items() if k not in prose or not isinstance(v, str)}

    said = re.split(r"(?<=\.)\s", tool.description)[0] if terse else tool.description
    bare = json.loads(json.dumps(dict(tool.parameters)), object_hook=without_prose)
    return tool.model_copy(update={"description": said, "parameters": bare})


def _conversation(gold: _Gold) -> tuple[Message, ...]:
    messages = [Message(role="user", content=gold.ticket or _first_person(gold))]
    for action in gold.actions:
        call = Call(name=action.name, arguments=action.arguments)
        messages += [
            Message(role="assistant", calls=(call,)),
            Message(role="tool", name=action.name, content=dumps(_result(action))),
        ]
    return (*messages, Message(role="assistant", content=_reply(gold)))


def _first_person(gold: _Gold) -> str:
    text = f"{gold.known_info.strip()} {gold.reason_for_call.strip()}".strip()
    for pattern, said in _FIRST_PERSON:
        text = re.sub(pattern, said, text, flags=re.IGNORECASE)
    return re.sub(r"(^|[.!?] )my\b", r"\1My", text)


def _result(action: _Action) -> JsonValue:
    """What the environment answered; a bare text or number becomes an object."""
    try:
        value = loads(action.result)
    except ValueError:
        value = action.result
    return value if isinstance(value, dict | list) else {"result": value}


def _reply(gold: _Gold) -> str:
    """What the user must be told, else what became of the last call."""
    if gold.communicate_info:
        return f"Done: {', '.join(gold.communicate_info)}."
    result = _result(last := gold.actions[-1])
    values = result if isinstance(result, dict) else {}
    said = values.get("status") or values.get("result") or last.name.replace("_", " ")
    return f"Done: {str(said).splitlines()[0][:MAX_SAID].rstrip('.')}."
