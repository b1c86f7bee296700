"""The recorded trace of docs/trace.md: bad calls are repaired, and a world refuses a good one."""

import asyncio
from collections.abc import Iterator, Mapping

from envace.episode import Call, Episode, Observation
from envace.rehearsal.protocol import format_calls
from envace.rollout.play import Opening, Rules, Stage, play
from envace.strict_json import dumps
from envace.worlds.airline import Config, build
from envace.worlds.world import State, WorldEnvironment
from tests.fixtures.golden import assert_golden
from tests.fixtures.speech import speaking

WORLD = build(Config())
STATE: State = {
    "B-417": {
        "passenger": "Mia Berg",
        "city": "Oslo",
        "date": "2026-03-14",
        "fare": "basic economy",
        "bags": 0,
        "status": "booked",
    }
}
USERS = (
    "Hi, I'm Mia Berg. When is my flight to Oslo?",
    "Please move it to 2026-03-20.",
    "Then put 1 bag on it.",
)
FIND = Call(name="find_booking", arguments={"passenger": "Mia Berg", "city": "Oslo"})
INCOMPLETE = Call(name="find_booking", arguments={"passenger": "Mia Berg"})
CHANGE = Call(name="change_flight", arguments={"booking": "B-417", "date": "2026-03-20"})
WORDS = Call(name="set_bags", arguments={"booking": "B-417", "bags": "one"})
BAGS = Call(name="set_bags", arguments={"booking": "B-417", "bags": 1})
LINES = (
    format_calls((INCOMPLETE,)),
    format_calls((FIND,)),
    "Booking B-417 is on 2026-03-14.",
    format_calls((CHANGE,)),
    "I cannot change booking B-417: it is basic economy.",
    format_calls((WORDS,)),
    format_calls((BAGS,)),
    "Booking B-417 now has bags: 1.",
)
HEAD = """\
# A recorded trace

One episode in the airline world, as it is played: two calls are badly made, refused by the
protocol's **check** before they reach the world, and repaired; a well-made call is refused by the
**world** itself, because a basic economy fare cannot be changed, and the agent says so.

`tests/rollout/test_trace.py` plays it with scripted outputs of the policy; checks and world are the
real ones.

| Who | What | Code |
|---|---|---|
"""


def recorded() -> tuple[Episode, WorldEnvironment]:
    environment = WorldEnvironment(WORLD, STATE)
    opening = Opening("airline", WORLD.system, WORLD.tools, USERS)
    stage = Stage(speaking(LINES), Rules())
    return asyncio.run(play(opening, stage, environment, seed=0)), environment


def code(seen: Observation) -> str:
    """The error code of a check or of the world; empty for an answer."""
    said = seen.content.get("error", "") if isinstance(seen.content, Mapping) else ""
    return seen.code or str(said)


def told(seen: Observation) -> str:
    """The answer as JSON; of a check's error object only what it found wrong."""
    match seen.content:
        case {"error": {"details": {"errors": [*errors]}}}:
            return "; ".join(map(str, errors))
        case content:
            return f"`{dumps(content)}`"


def rows(episode: Episode) -> Iterator[tuple[str, str, str]]:
    for user, steps in zip(USERS, episode.rounds, strict=True):
        yield "user", user, ""
        for step in steps:
            for call, seen in zip(step.act.calls, step.observations, strict=True):
                yield "agent calls", f"`{call.name} {dumps(call.arguments)}`", ""
                who = "check" if seen.code else "world"
                yield f"**{who}** refuses" if code(seen) else who, told(seen), code(seen)
            if step.act.reply:
                yield "agent", step.act.reply, ""


def markdown(episode: Episode) -> str:
    lines = (f"| {who} | {what} | {f'`{c}`' if c else ''} |\n" for who, what, c in rows(episode))
    return HEAD + "".join(lines)


def test_the_trace_in_the_documentation_is_what_is_played() -> None:
    episode, _ = recorded()
    assert_golden("docs/trace.md", markdown(episode))


def test_a_bad_call_is_repaired_and_a_basic_fare_is_refused_by_the_world() -> None:
    episode, _ = recorded()
    codes = [[code(step.observations[0]) for step in steps[:-1]] for steps in episode.rounds]
    assert codes == [
        ["INVALID_PARAMETERS", ""],
        ["FARE_NOT_CHANGEABLE"],
        ["INVALID_PARAMETERS", ""],
    ]
    assert episode.fault is None


def test_only_what_was_granted_changes_the_world() -> None:
    _, environment = recorded()
    assert environment.state == {"B-417": {**STATE["B-417"], "bags": 1}}
