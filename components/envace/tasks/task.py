"""A task: a recorded conversation with its tools, and a checklist for each of its turns.

The checklist has CM2's form (arXiv 2602.12268): weighted yes-or-no items. Ours adds a machine check
to an item, so that no judge is needed where a rule can decide.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from envace.episode import Call, Message, Record, Tool


class CallMade(Record):
    """Some call of the turn has this name and these arguments, no more and no fewer."""

    kind: Literal["call_made"] = "call_made"
    name: str
    arguments: Mapping[str, JsonValue]
    loose: tuple[str, ...] = ()
    """Arguments that are prose: any text that is not blank will do."""
    unordered: tuple[str, ...] = ()
    """Arguments that are lists of one length, read as the columns of a table whose rows may come in
    any order: `item_ids` alone, or `item_ids` with the `new_item_ids` that replace them."""


class OnlyCalls(Record):
    """Something is called or said, and every call goes to one of these tools (none: no call)."""

    kind: Literal["only_calls"] = "only_calls"
    names: tuple[str, ...]


class ReplyHas(Record):
    """The visible reply contains one of these texts, as `says` judges."""

    kind: Literal["reply_has"] = "reply_has"
    any_of: tuple[str, ...]


class ObservationHas(Record):
    """Some response of the tool `name` is an object with these fields and values."""

    kind: Literal["observation_has"] = "observation_has"
    name: str
    fields: Mapping[str, JsonValue]


def says(reply: str, text: str) -> bool:
    """Does `reply` contain `text` as whole words, letter case aside? `O-482` is not in `O-4821`."""
    before, after = r"(?<!\w)" * text[:1].isalnum(), r"(?!\w)" * text[-1:].isalnum()
    return re.search(before + re.escape(text) + after, reply, re.IGNORECASE) is not None


Check = Annotated[CallMade | OnlyCalls | ReplyHas | ObservationHas, Field(discriminator="kind")]


class ChecklistItem(Record):
    """One yes-or-no question about a turn."""

    id: str
    question: str
    focus_on: Literal[
        "assistant.tool_calls", "tool.content", "assistant.content.user_visible_reply"
    ]
    pass_condition: str
    weight: float = Field(gt=0, le=1)
    """Share of the turn's score; the weights of a turn sum to 1."""
    required_for_next_turn: bool = False
    failure_examples: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    dependence: tuple[str, ...] = ()
    """Ids of items of the same turn without which this one does not count."""
    check: Check | None = None
    """The rule that decides it; without one a judge must."""


class Task(Record):
    """One recorded conversation, ready to train on."""

    id: str
    source: str
    """The source plug-in that it came from."""
    domain: str
    tier: str
    """Difficulty or kind within the domain."""
    family: str = ""
    """Its tools are one family, which is trained on or held out as a whole; empty: each tool is a
    family of its own, as where every record has tools of its own."""
    system: str
    """The policy text that the agent works under."""
    tools: tuple[Tool, ...]
    """Candidate tools."""
    conversation: tuple[Message, ...]
    """The recording, in order, from the first user message to the last reply."""
    checklists: tuple[tuple[ChecklistItem, ...], ...] = ()
    """One checklist a user message."""

    @property
    def user_messages(self) -> tuple[str, ...]:
        """What the user said, in order."""
        return tuple(m.content for m in self.conversation if m.role == "user")

    @property
    def recorded_calls(self) -> tuple[tuple[Call, str], ...]:
        """Each recorded call with its result as JSON text, in order."""
        pairs: list[tuple[Call, str]] = []
        for index, message in enumerate(self.conversation):
            results = self.conversation[index + 1 : index + 1 + len(message.calls)]
            pairs += [(call, m.content) for call, m in zip(message.calls, results, strict=True)]
        return tuple(pairs)
