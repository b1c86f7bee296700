"""Recordings are untrusted: each is held against these rules before anything relies on it.

A rule is a pure function with a name. They are the rule filters of CM2 (arXiv 2602.12268) and more.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from envace.config import nearest
from envace.errors import ConfigError
from envace.tasks.checks import calls, shape, text
from envace.tasks.task import Task


@dataclass(frozen=True)
class Rule:
    """One way in which a recording cannot be trusted."""

    name: str
    check: Callable[[Task], str | None]
    """Why the task breaks the rule, as `code: detail`; None if it does not."""


RULES = tuple(
    Rule(check.__name__, check)
    for check in (
        shape.not_finite,
        shape.not_unicode,
        shape.too_many,
        shape.duplicate_tool,
        shape.invalid_schema,
        shape.role_order,
        shape.too_large,
        calls.bad_result,
        calls.invalid_call,
        calls.repeated_call,
        text.unbalanced_think,
        text.tool_text,
        text.control_tokens,
        shape.checklists,
    )
)
"""In the order in which they are asked; each may rely on those before it."""
OPTIONAL = ("repeated_call", "unbalanced_think", "tool_text", "control_tokens", "too_many")
"""Rules on style, which nothing later relies on."""


def by_name(skip: Collection[str]) -> tuple[Rule, ...]:
    """The rules but those to skip. Raises `ConfigError` for one that is not optional."""
    for name in skip:
        if name not in OPTIONAL:
            raise ConfigError(f"skip: '{name}' is no optional rule; {nearest(name, OPTIONAL)}")
    return tuple(rule for rule in RULES if rule.name not in skip)


def problem(task: Task, rules: tuple[Rule, ...] = RULES) -> str | None:
    """Why `task` cannot be trusted, as `code: detail` of the first reason; None if it can."""
    for rule in rules:
        if found := rule.check(task):
            return found
    return None
