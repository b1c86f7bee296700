"""An item of a benchmark: what its user says and which calls are its answer."""

from dataclasses import dataclass

from envace.episode import Call


@dataclass(frozen=True)
class Item:
    """One item, reduced to what a task can be compared with."""

    id: str
    texts: tuple[str, ...]
    """What the user says or is told to say, each passage by itself."""
    goal: tuple[tuple[Call, ...], ...] = ()
    """The calls of the answer; of each, the forms that are right."""
    tools: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name and parameters of the tools that were written for this item alone; empty where items
    share the tools of a domain, which may be trained on."""
    compared: bool = True
    """Must no task be this item? Others tell only what is a template: many tasks of their
    benchmark say the same."""
