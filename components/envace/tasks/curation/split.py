"""Which side a task is on: a tool that validates is never trained on.

One idea: the side belongs to the family of tools, not to the task, and a family's side depends on
its name alone: a family f is held out if it is named so or u(f) < share, with u the first 64 bits
of SHA-256(salt, f) as a fraction. Added data therefore never moves a task.

Where each tool is a family of its own, a task is on the side of the tools that it calls, candidates
of the other side are taken from it, and one that calls tools of both sides is rejected.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from envace.episode import Tool
from envace.strict_json import canonical
from envace.tasks.task import Task


def fraction(name: str, salt: str) -> float:
    """u(name), uniform in [0, 1)."""
    digest = hashlib.sha256(f"{salt}\0{name}".encode(errors="backslashreplace")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def definition(tool: Tool) -> bytes:
    """Eight bytes that two tools share when name, description and schema are equal."""
    return _short(canonical([tool.name, tool.description, dict(tool.parameters)]))


def name_key(tool: Tool) -> bytes:
    """Eight bytes that two tools share when their names are equal."""
    return _short(f"name {tool.name}")


def _short(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


@dataclass(frozen=True)
class Placed:
    """A task and its side."""

    task: Task
    """Without the candidate tools of the other side."""
    held_out: bool


@dataclass(frozen=True)
class Split:
    """The rule of the split."""

    held_out: frozenset[str]
    """Families that are held out whatever their hash."""
    share: float | Mapping[str, float]
    """Of the families; or one a source."""
    salt: str

    def place(self, task: Task) -> Placed | str:
        """The task on its side, or why it can be on neither, as `code: detail`."""
        share = self._share(task.source)
        if task.family:
            return Placed(task, self._held_out(task.family, share))
        sides = {tool.name: self._held_out(tool.name, share) for tool in task.tools}
        called = sorted({call.name for call, _ in task.recorded_calls} & sides.keys())
        if not called:
            return _without_others(task, sides, self._of_no_call(task, sides, share))
        if len({sides[name] for name in called}) > 1:
            other = next(name for name in called if sides[name] != sides[called[0]])
            return f"mixed_families: '{called[0]}' and '{other}' are on two sides of the split"
        return _without_others(task, sides, sides[called[0]])

    def _share(self, source: str) -> float:
        return self.share.get(source, 0.0) if isinstance(self.share, Mapping) else self.share

    def _held_out(self, family: str, share: float) -> bool:
        return family in self.held_out or fraction(family, self.salt) < share

    def _of_no_call(self, task: Task, sides: Mapping[str, bool], share: float) -> bool:
        """One of its tools, drawn by hash, decides for a task that calls none."""
        if not sides:
            return self._held_out(task.id, share)
        return sides[min(sides, key=lambda name: fraction(name, f"{self.salt}/no call"))]


def _without_others(task: Task, sides: Mapping[str, bool], held_out: bool) -> Placed:
    tools = tuple(tool for tool in task.tools if sides[tool.name] == held_out)
    same = len(tools) == len(task.tools)
    return Placed(task if same else task.model_copy(update={"tools": tools}), held_out)
