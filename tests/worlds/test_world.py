import asyncio
import json
from dataclasses import replace
from random import Random

import pytest

from envace.episode import Call, Message
from envace.errors import WorldError
from envace.worlds.world import (
    CANNOT,
    TEXT,
    WHOLE,
    Action,
    Exchange,
    Row,
    State,
    World,
    WorldEnvironment,
    changed,
    refusal,
    solve,
    succeeded,
    tool,
)

START: State = {"L-1": {"on": 0}, "L-2": {"on": 1}}
SWITCH = Call(name="switch", arguments={"lamp": "L-1", "on": 1})
OFF = Call(name="switch", arguments={"lamp": "L-1", "on": 0})


def _switch(state: State, asked: Row) -> tuple[State, Row]:
    lamp = str(asked["lamp"])
    if lamp == "L-2":
        return state, refusal("LOCKED", "L-2 is locked.")
    return changed(state, lamp, on=asked["on"]), {"lamp": lamp, "on": asked["on"]}


def _lamps(*exchanges: Exchange) -> World:
    """A world of two lamps whose only tier holds these exchanges."""
    action = Action(tool("switch", "Switches.", lamp=TEXT, on=WHOLE), _switch)
    return World("lamps", "", (action,), {"only": lambda _: (START, exchanges)})


ON = Exchange("L-1 on!", (SWITCH,), "{lamp} is on.", (("L-1",), ("on", "lit")))


def _talk(*replies: str) -> list[Message]:
    pairs = [(Message(role="user", content="?"), reply) for reply in replies]
    return [m for user, reply in pairs for m in (user, Message(role="assistant", content=reply))]


def test_executing_leaves_the_old_state_as_it_was() -> None:
    after, result = _lamps().execute(START, SWITCH)
    assert after == {"L-1": {"on": 1}, "L-2": {"on": 1}}
    assert result == {"lamp": "L-1", "on": 1}
    assert START["L-1"] == {"on": 0}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (Call(name="fly", arguments={}), "UNKNOWN_TOOL"),
        (Call(name="switch", arguments={"lamp": "L-1"}), "BAD_ARGUMENTS"),
        (Call(name="switch", arguments={"lamp": "L-1", "on": "1"}), "BAD_ARGUMENTS"),
        (Call(name="switch", arguments={"lamp": "L-1", "on": 1, "now": 1}), "BAD_ARGUMENTS"),
        (Call(name="switch", arguments={"lamp": "L-2", "on": 0}), "LOCKED"),
    ],
)
def test_a_call_that_cannot_run_is_an_error_result_and_changes_nothing(
    call: Call, code: str
) -> None:
    state, result = _lamps().execute(START, call)
    assert result["error"] == code
    assert state is START


def test_an_integer_written_as_a_float_is_an_integer() -> None:
    call = Call(name="switch", arguments={"lamp": "L-1", "on": 1.0})
    assert json.dumps(_lamps().execute(START, call)[1]) == '{"lamp": "L-1", "on": 1}'


def test_the_environment_keeps_the_state_of_its_own_episode() -> None:
    world = _lamps()
    one, other = WorldEnvironment(world, START), WorldEnvironment(world, START)
    seen = asyncio.run(one.respond(SWITCH))
    assert seen.content == {"lamp": "L-1", "on": 1}
    assert (one.state["L-1"], other.state["L-1"]) == ({"on": 1}, {"on": 0})


def test_the_solver_records_calls_results_and_a_reply() -> None:
    world = _lamps(ON)
    assert solve(world, world.scenario(0, "only")) == (
        Message(role="user", content="L-1 on!"),
        Message(role="assistant", calls=(SWITCH,)),
        Message(role="tool", name="switch", content='{"lamp": "L-1", "on": 1}'),
        Message(role="assistant", content="L-1 is on."),
    )


def test_an_argument_can_come_from_an_earlier_result() -> None:
    again = Call(name="switch", arguments={"lamp": "{lamp}", "on": 2})
    world = _lamps(ON, Exchange("And up.", (again,), "{lamp} is up.", (("up",),)))
    scenario = world.scenario(0, "only")
    assert scenario.goal["L-1"] == {"on": 2}
    assert solve(world, scenario)[5].calls[0].arguments == {"lamp": "L-1", "on": 2}


@pytest.mark.parametrize(
    ("exchange", "why"),
    [
        (replace(ON, reply="{room} is on."), "'{room} is on.' needs 'room'"),
        (replace(ON, refusal="LOCKED"), "answered 'no error' where the plan expects 'LOCKED'"),
    ],
)
def test_a_plan_that_fails_is_a_world_error(exchange: Exchange, why: str) -> None:
    with pytest.raises(WorldError, match=why):
        _lamps(exchange).scenario(0, "only")


def test_a_scenario_whose_goal_is_not_reached_cannot_be_solved() -> None:
    world = _lamps(ON)
    scenario = replace(world.scenario(0, "only"), goal=START)
    with pytest.raises(WorldError, match="the final state of L-1 is wrong"):
        solve(world, scenario)


@pytest.mark.parametrize(
    "exchanges",
    [
        (Exchange("Hm.", (), "Which lamp?", (("?",),)),),
        (ON, Exchange("Off.", (OFF,), "{lamp} is off.", (("off",),))),
    ],
)
def test_a_scenario_that_can_be_won_without_a_call_is_refused(
    exchanges: tuple[Exchange, ...],
) -> None:
    with pytest.raises(WorldError, match="lamps/only/0 can be won without a call"):
        _lamps(*exchanges).scenario(0, "only")


def test_a_story_that_cannot_be_drawn_is_named_with_domain_tier_and_seed() -> None:
    def broken(rng: Random) -> tuple[State, tuple[Exchange, ...]]:
        raise WorldError("there is no lamp.")

    with pytest.raises(WorldError, match="lamps/only/7 cannot be drawn: there is no lamp"):
        World("lamps", "", (), {"only": broken}).scenario(7, "only")


def test_an_unknown_tier_is_named_with_the_known_ones() -> None:
    with pytest.raises(WorldError, match="lamps has no tier 'hard'; choose one of only"):
        _lamps().scenario(0, "hard")


def test_success_needs_the_goal_state_and_every_fact_in_its_reply() -> None:
    scenario = _lamps(ON).scenario(0, "only")
    judged = [
        succeeded(scenario, scenario.goal, _talk("Lamp l-1 is LIT.")),
        succeeded(scenario, START, _talk("Lamp L-1 is on.")),
        succeeded(scenario, scenario.goal, _talk("Done.")),
        succeeded(scenario, scenario.goal, []),
        succeeded(scenario, scenario.goal, _talk("")),
    ]
    assert judged == [
        (True, ""),
        (False, "the final state of L-1 is wrong"),
        (False, "reply 1 lacks 'L-1'"),
        (False, "0 of 1 user messages got a reply"),
        (False, "0 of 1 user messages got a reply"),
    ]


LOCKED = Call(name="switch", arguments={"lamp": "L-2", "on": 0})
NO = '{"error": "LOCKED", "message": "L-2 is locked."}'
REFUSED = Exchange("L-2 off!", (LOCKED,), "I cannot: locked.", (CANNOT, ("locked",)), "LOCKED")


@pytest.mark.parametrize(
    ("calls", "answer", "passed"),
    [
        ((LOCKED,), NO, True),
        ((SWITCH, LOCKED), NO, True),
        ((), "", False),
        ((LOCKED,), '{"error": {"code": "INVALID_PARAMETERS"}}', False),
        ((Call(name="switch", arguments={"lamp": "L-2", "on": 1}),), NO, False),
    ],
)
def test_a_refusal_counts_only_after_that_very_call_was_refused(
    calls: tuple[Call, ...], answer: str, passed: bool
) -> None:
    scenario = _lamps(REFUSED).scenario(0, "only")
    talk = [
        Message(role="user", content="L-2 off!"),
        Message(role="assistant", calls=calls),
        *(Message(role="tool", name="switch", content=answer) for _ in calls),
        Message(role="assistant", content="I cannot: locked."),
    ]
    why = "" if passed else "reply 1 does not rest on switch as planned"
    assert succeeded(scenario, START, talk) == (passed, why)


def test_a_call_that_comes_after_the_reply_does_not_support_it() -> None:
    scenario = _lamps(REFUSED, ON).scenario(0, "only")
    played = solve(_lamps(REFUSED, ON), scenario)
    late = [played[0], played[3], played[4], *played[1:3], *played[5:]]
    assert succeeded(scenario, scenario.goal, played) == (True, "")
    assert succeeded(scenario, scenario.goal, late)[1].startswith("reply 1 does not rest on")


def test_what_was_looked_up_before_supports_a_later_reply() -> None:
    world = _lamps(REFUSED, ON, REFUSED)
    scenario = world.scenario(0, "only")
    talk = solve(world, scenario)
    again = [*talk[:9], talk[-1]]
    assert succeeded(scenario, scenario.goal, again) == (True, "")
