"""What a model proposes for a task, and whether the recording bears it out."""

import re
from collections.abc import Sequence
from typing import Literal

from envace.episode import Record
from envace.tasks.labels.questions import MAX_ITEMS, line, turns
from envace.tasks.labels.recorded import weighed
from envace.tasks.task import ChecklistItem, Task

MAX_TEXT = 500
"""Characters of a text of an item."""
_ID = re.compile(r"[\w-]{1,40}")


class Item(Record):
    """A judged item, as the model writes it."""

    id: str
    question: str
    focus_on: Literal[
        "assistant.tool_calls", "tool.content", "assistant.content.user_visible_reply"
    ]
    pass_condition: str
    failure_examples: tuple[str, ...]
    evidence: tuple[str, ...]
    dependence: tuple[str, ...]
    weight: float


class Labels(Record):
    """Its items, a list for each turn of the user."""

    turns: tuple[tuple[Item, ...], ...]


class Fitness(Record):
    """Its verdict on a task."""

    keep: bool
    code: Literal[
        "ok",
        "unclear_request",
        "wrong_calls",
        "policy_broken",
        "unsupported_reply",
        "unfinished",
        "implausible_result",
        "harmful",
    ]
    detail: str


def unsure(fitness: Fitness) -> str | None:
    """Why the verdict contradicts itself, as `code: detail`; None if it does not."""
    if fitness.keep == (fitness.code == "ok"):
        return None
    return f"code: keep is {str(fitness.keep).lower()}, but the code is '{fitness.code}'"


def problem(task: Task, labels: Labels) -> str | None:
    """Why the labels do not hold, as `code: detail`; None if they do."""
    wanted = len(task.user_messages)
    if (got := len(labels.turns)) != wanted:
        return f"turns: it has {got} lists of items for {wanted} turns"
    rules = task.checklists or ((),) * wanted
    for number, (items, known) in enumerate(zip(labels.turns, rules, strict=True)):
        if len(items) > MAX_ITEMS:
            return f"items: turn {number} has {len(items)} items, limit {MAX_ITEMS}"
        ids, texts = {item.id for item in known}, _texts(task, number)
        for item in items:
            if found := _item_problem(item, ids, texts):
                return f"{found} (item '{item.id[:MAX_TEXT]}' of turn {number})"
            ids.add(item.id)
    return None


def _item_problem(item: Item, ids: set[str], texts: Sequence[str]) -> str | None:
    """`ids` are those of the items before it."""
    written = (item.question, item.pass_condition, *item.failure_examples, *item.evidence)
    if not _ID.fullmatch(item.id) or item.id in ids:
        return "id: it is not a name of its own"
    if any(not text.strip() or len(text) > MAX_TEXT for text in written):
        return f"text: a text is empty or longer than {MAX_TEXT} characters"
    if unknown := set(item.dependence) - ids:
        return f"dependence: '{min(unknown)[:MAX_TEXT]}' is no earlier item of its turn"
    if not 0.01 <= item.weight <= 1:
        return f"weight: {item.weight} is not from 0.01 to 1"
    if not item.evidence:
        return "evidence: there is none"
    for snippet in item.evidence:
        if not any(_flat(snippet) in text for text in texts):
            return f"evidence: {snippet!r} is not in the messages of the turn"
    return None


def labelled(task: Task, labels: Labels, share: float) -> Task:
    """The task with the labels, which get `share` of the score of each turn that has some."""
    rules = task.checklists or ((),) * len(labels.turns)
    checklists = tuple(
        weighed(
            [(part, found) for part, found in ((1 - share, old), (share, _judged(new))) if found]
        )
        for old, new in zip(rules, labels.turns, strict=True)
    )
    return task.model_copy(update={"checklists": checklists})


def _judged(items: Sequence[Item]) -> tuple[ChecklistItem, ...]:
    return tuple(ChecklistItem(**item.model_dump()) for item in items)


def _texts(task: Task, turn: int) -> list[str]:
    """What may be quoted of a turn: what is said, and the lines that the model was shown."""
    shown = [message for number, message in turns(task) if number == turn]
    return [_flat(text) for message in shown for text in (message.content, line(turn, message))]


def _flat(text: str) -> str:
    return " ".join(text.split())
