"""Checklist reward: each turn's weighted items, decided by their machine checks.

    score of a turn = Σ weight · passed        an item passes if any step of the turn passes it
    reward          = Σ scores / turns         in [0, 1], over all turns of the recording

A fault gives its turn 0. An item without a machine check needs a judge, so its reward is missing.
Values are compared as JSON has them: 1 is 1.0, but neither true nor "1".
"""

from collections.abc import Mapping, Sequence
from math import fsum

from pydantic import JsonValue

from envace.config import Config as BaseConfig
from envace.episode import Call, Episode, Observation, Step
from envace.rewards.reward import Missing, Valid
from envace.strict_json import canonical
from envace.tasks.task import (
    CallMade,
    Check,
    ChecklistItem,
    ObservationHas,
    OnlyCalls,
    ReplyHas,
    Task,
    says,
)

Rounds = Sequence[Sequence[Step]]


class Config(BaseConfig):
    """Machine checks need no parameters."""


class Checklist:
    """Scores episodes by the machine checks of their task."""

    async def score(self, task: Task, episode: Episode) -> Valid | Missing:
        """The episode's reward; missing if an item has no machine check, or if there is no item."""
        if not task.checklists:
            return Missing(f"{task.id} has no checklist")
        if any(item.check is None for items in task.checklists for item in items):
            return Missing(f"{task.id} has an item that only a judge can decide")
        last = len(episode.rounds) - 1
        scores = [
            0.0 if episode.fault and index == last else score_turn(items, steps)
            for index, (items, steps) in enumerate(
                zip(task.checklists, episode.rounds, strict=False)
            )
        ]
        return Valid(fsum(scores) / len(task.checklists))

    def goes_on(self, task: Task, rounds: Rounds) -> bool:
        """Did the last round pass every item that the next user message requires?"""
        items = task.checklists[len(rounds) - 1] if task.checklists else ()
        passed = passes(items, rounds[-1])
        return all(item.id in passed for item in items if item.required_for_next_turn)


def build(config: Config) -> Checklist:
    """The reward by machine checks."""
    return Checklist()


def score_turn(items: Sequence[ChecklistItem], steps: Sequence[Step]) -> float:
    """Σ weight · passed of one turn, without rounding on the way: a perfect turn is exactly 1."""
    passed = passes(items, steps)
    return fsum(item.weight for item in items if item.id in passed)


def passes(items: Sequence[ChecklistItem], steps: Sequence[Step]) -> set[str]:
    """Ids of the items that a turn passes; an item counts only if those it depends on do."""
    alone = {item.id for item in items if item.check and holds(item.check, steps)}
    return {item.id for item in items if item.id in alone and alone.issuperset(item.dependence)}


def holds(check: Check, steps: Sequence[Step]) -> bool:
    """Does a turn pass this check?"""
    match check:
        case CallMade():
            return any(_is_call(check, call) for call, _ in _made(steps))
        case OnlyCalls():
            active = any(step.act.calls or step.act.reply.strip() for step in steps)
            return active and all(call.name in check.names for call, _ in _made(steps))
        case ReplyHas():
            reply = "\n".join(step.act.reply for step in steps)
            return any(says(reply, text) for text in check.any_of)
        case ObservationHas():
            answers = [seen.content for call, seen in _made(steps) if call.name == check.name]
            wanted = _text(check.fields)
            return any(
                isinstance(answer, dict)
                and _text({key: answer[key] for key in check.fields if key in answer}) == wanted
                for answer in answers
            )


def _is_call(check: CallMade, call: Call) -> bool:
    """Is it the call that is asked for?"""
    wanted, made = check.arguments, call.arguments
    if call.name != check.name or made.keys() != wanted.keys():
        return False
    prose = [made.get(name) for name in check.loose]
    exact = wanted.keys() - {*check.loose, *check.unordered}
    return (
        all(isinstance(text, str) and text.strip() for text in prose)
        and _rows(made, check.unordered) == (_rows(wanted, check.unordered) or ())
        and all(_text(made[name]) == _text(wanted[name]) for name in exact)
    )


def _rows(
    arguments: Mapping[str, JsonValue], names: Sequence[str]
) -> Sequence[tuple[str, ...]] | None:
    """The sorted rows of the table that the named lists are the columns of; None if it is none."""
    columns = [column for name in names if isinstance(column := arguments.get(name), list)]
    if len(columns) < len(names) or len({*map(len, columns)}) > 1:
        return None
    return tuple(sorted(zip(*(map(_text, column) for column in columns), strict=True)))


def _text(value: object) -> str:
    """JSON that is equal for equal values."""
    return canonical(_plain(value))


def _plain(value: object) -> object:
    """`value` with whole numbers as integers."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _made(steps: Sequence[Step]) -> list[tuple[Call, Observation]]:
    """Each call of a turn with what answered it."""
    return [pair for step in steps for pair in zip(step.act.calls, step.observations, strict=True)]
