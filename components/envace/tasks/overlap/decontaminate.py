"""A task is contaminated when it is, in words, in deeds or by its tools, an item of a benchmark.

Four comparisons, each by hashes alone. Goal state: the calls that change something are those of
the item's answer (all calls, where none changes anything). Prompt: half of the runs of ten words
of the shorter text are in both. Identifiers: half of the item's identifiers, two at least, or one
that its user is told and that names one thing alone, are in what the task's user says and its
calls, as in a conversation about the item that took another course. Tools: those on offer are
exactly the ones that were written for the item.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from envace.episode import Tool
from envace.strict_json import canonical
from envace.tasks.labels.calls import changes
from envace.tasks.overlap._hashes import call_hash, marks, names, runs, tools_hash
from envace.tasks.task import Task

MIN_MARKS = 2
"""Identifiers that a task and an item must share."""

Places = Mapping[int, tuple[int, ...]]
"""Of a hash, the places of the items that have it."""


@dataclass(frozen=True)
class Goal:
    """The calls of an item's answer, as hashes of their right forms."""

    calls: tuple[frozenset[int], ...]
    writes: bool
    """Are they the calls that change something?"""

    def reached(self, made: frozenset[int], changed: frozenset[int]) -> bool:
        """Are these calls those of the answer, no more and no fewer?"""
        deeds = changed if self.writes else made
        right = frozenset[int]().union(*self.calls)
        return deeds <= right and all(not forms.isdisjoint(deeds) for forms in self.calls)


@dataclass(frozen=True)
class Decontaminator:
    """Compares tasks with the items of a manifest."""

    names: tuple[str, ...]
    """`benchmark:id` of each item, by its place."""
    share: float
    sizes: tuple[tuple[int, int], ...]
    """Runs and identifiers of each item."""
    runs: Places
    marks: Places
    names_told: Places
    """Identifiers that the item's user is told and that name one thing alone."""
    goals: Mapping[int, tuple[tuple[int, Goal], ...]]
    """By the hash of a form of the first call: items and their goals."""
    tools: Mapping[int, int]
    """By the hash of a set of tools, the first item that they were written for."""

    @property
    def benchmarks(self) -> Mapping[str, int]:
        """Items of each benchmark."""
        return Counter(name.partition(":")[0] for name in self.names)

    def __call__(self, task: Task) -> str | None:
        """`contaminated: bfcl:ITEM by goal state`, or prompt, identifiers or tools; or None."""
        found = (
            self._by_goal(task),
            self._by_prompt(task),
            self._by_marks(task),
            self._by_tools(task),
        )
        ways = zip(found, ("goal state", "prompt", "identifiers", "tools"), strict=True)
        first = next(((place, way) for place, way in ways if place is not None), None)
        return f"contaminated: {self.names[first[0]]} by {first[1]}" if first else None

    def _by_goal(self, task: Task) -> int | None:
        hashes = [(call_hash(call), changes(call.name)) for call, _ in task.recorded_calls]
        made = frozenset(one for one, _ in hashes)
        changed = frozenset(one for one, is_change in hashes if is_change)
        candidates = (pair for one in sorted(made) for pair in self.goals.get(one, ()))
        return next((place for place, goal in candidates if goal.reached(made, changed)), None)

    def _by_prompt(self, task: Task) -> int | None:
        found = runs(task.user_messages)
        shared = _shared(found, self.runs)
        return _first(
            place
            for place, count in shared.items()
            if count >= self.share * min(len(found), self.sizes[place][0])
        )

    def _by_marks(self, task: Task) -> int | None:
        arguments = (canonical(dict(call.arguments)) for call, _ in task.recorded_calls)
        texts = [*task.user_messages, *arguments]
        if told := _shared(names(texts), self.names_told):
            return min(told)
        shared = _shared(marks(texts), self.marks)
        return _first(
            place
            for place, count in shared.items()
            if count >= MIN_MARKS and count >= self.share * self.sizes[place][1]
        )

    def _by_tools(self, task: Task) -> int | None:
        found = tools_hash((tool.name, _properties(tool)) for tool in task.tools)
        return None if found is None else self.tools.get(found)


def _properties(tool: Tool) -> tuple[str, ...]:
    properties = tool.parameters.get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()


def load(path: Path) -> Decontaminator:
    """The manifest at `path`, ready to compare with: about 100 bytes a hash."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    rows = table.to_pylist()
    goals: dict[int, list[tuple[int, Goal]]] = {}
    for place, row in enumerate(rows):
        goal = Goal(tuple(map(frozenset, row["goal"])), row["writes"])
        for form in row["goal"][0] if row["goal"] else ():
            goals.setdefault(form, []).append((place, goal))
    return Decontaminator(
        names=tuple(f"{row['benchmark']}:{row['id']}" for row in rows),
        share=float((table.schema.metadata or {})[b"share"]),
        sizes=tuple((row["n_runs"], row["n_marks"]) for row in rows),
        runs=_places(row["runs"] for row in rows),
        marks=_places(row["marks"] for row in rows),
        names_told=_places(row["names"] for row in rows),
        goals={form: tuple(pairs) for form, pairs in goals.items()},
        tools={row["tools"]: place for place, row in reversed([*enumerate(rows)]) if row["tools"]},
    )


def _places(lists: Iterable[Iterable[int]]) -> Places:
    found: dict[int, tuple[int, ...]] = {}
    for place, hashes in enumerate(lists):
        for one in hashes:
            found[one] = (*found.get(one, ()), place)
    return found


def _shared(found: Iterable[int], places: Places) -> Counter[int]:
    """How many of the hashes each item has."""
    return Counter(place for one in found for place in places.get(one, ()))


def _first(places: Iterable[int]) -> int | None:
    return min(places, default=None)
