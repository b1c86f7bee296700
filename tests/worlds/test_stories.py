from random import Random

import pytest
from jsonschema import Draft202012Validator

from envace.episode import Call, Message
from envace.errors import WorldError
from envace.worlds import airline, calendar, retail
from envace.worlds._stories import Domain, Subject, Wish, draw, pick, stories
from envace.worlds.world import TIERS, World, solve, succeeded

WORLDS = [module.build(module.Config()) for module in (airline, calendar, retail)]
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.domain)
each_tier = pytest.mark.parametrize("tier", TIERS)


@each_tier
@each_world
def test_the_solver_passes_every_scenario(world: World, tier: str) -> None:
    for seed in range(50):
        solve(world, world.scenario(seed, tier))


@each_world
def test_an_agent_that_says_everything_but_never_calls_passes_nothing(world: World) -> None:
    scenarios = [world.scenario(seed, tier) for tier in TIERS for seed in range(80)]
    facts = {text for s in scenarios for e in s.exchanges for fact in e.facts for text in fact}
    reply = Message(role="assistant", content=" ".join(facts))
    for scenario in scenarios:
        users = [Message(role="user", content=text) for text in scenario.user_messages]
        talk = [message for user in users for message in (user, reply)]
        passed, why = succeeded(scenario, scenario.state, talk)
        assert not passed, scenario.id
        assert "final state" in why or "does not rest on" in why


@each_tier
@each_world
def test_no_call_of_a_plan_can_be_left_out(world: World, tier: str) -> None:
    for seed in range(30):
        scenario = world.scenario(seed, tier)
        talk = solve(world, scenario)
        for place in (index for index, message in enumerate(talk) if message.calls):
            rest = (*talk[:place], *talk[place + 2 :])
            state = scenario.state
            for call in (call for message in rest for call in message.calls):
                state, _ = world.execute(state, call)
            assert not succeeded(scenario, state, rest)[0], scenario.id


@each_world
def test_what_a_look_up_must_tell_is_not_in_the_question(world: World) -> None:
    exchanges = [world.scenario(seed, "trap").exchanges[0] for seed in range(60)]
    looked_up = [e for e in exchanges if e.plan[0].name.startswith("find_")]
    assert len(looked_up) > 20
    for exchange in looked_up:
        (key,) = exchange.facts[0]
        assert any(map(str.isdigit, key))
        assert key not in exchange.text


@each_tier
@each_world
def test_a_scenario_is_fixed_by_its_seed_and_differs_from_the_others(
    world: World, tier: str
) -> None:
    assert world.scenario(7, tier) == world.scenario(7, tier)
    assert len({world.scenario(seed, tier).user_messages for seed in range(50)}) >= 48


@each_world
def test_the_tiers_make_one_call_two_calls_and_two_turns(world: World) -> None:
    for seed in range(30):
        plans = [[len(e.plan) for e in world.scenario(seed, tier).exchanges] for tier in TIERS]
        assert plans in ([[1], [2], [1, 1]], [[1], [2], [1, 0]])


@each_world
def test_the_second_call_of_two_needs_the_result_of_the_first(world: World) -> None:
    for seed in range(30):
        talk = solve(world, world.scenario(seed, "two_calls"))
        key = str(next(iter(talk[3].calls[0].arguments.values())))
        assert key not in talk[0].content
        assert key in talk[2].content


@each_world
def test_a_trap_ends_in_a_refusal_or_in_a_question(world: World) -> None:
    refused = asked = 0
    for seed in range(60):
        scenario = world.scenario(seed, "trap")
        reply = solve(world, scenario)[-1].content
        refused += bool(scenario.exchanges[1].refusal) and "cannot" in reply
        asked += not scenario.exchanges[1].plan and reply.endswith("?")
    assert refused + asked == 60
    assert refused > asked > 5


def test_a_refused_fare_change_is_in_the_recording() -> None:
    world = WORLDS[0]
    seeds = (world.scenario(seed, "trap") for seed in range(100))
    scenario = next(s for s in seeds if s.exchanges[1].refusal == "FARE_NOT_CHANGEABLE")
    call, refusal, reply = solve(world, scenario)[-3:]
    assert call.calls[0].name == "change_flight"
    assert '"error": "FARE_NOT_CHANGEABLE"' in refusal.content
    assert "cannot change" in reply.content
    assert "basic economy" in reply.content


@each_world
def test_every_schema_is_valid_and_closed(world: World) -> None:
    for tool in world.tools:
        Draft202012Validator.check_schema(dict(tool.parameters))
        assert tool.parameters["additionalProperties"] is False


@each_world
def test_the_standing_text_is_short_enough_for_a_small_policy(world: World) -> None:
    assert len(world.system.split()) <= 40
    assert 3 <= len(world.tools) <= 5
    assert all(len(tool.description.split()) <= 8 for tool in world.tools)


@pytest.mark.parametrize(
    ("tier", "characters"), [("one_call", 260), ("two_calls", 400), ("trap", 480)]
)
@each_world
def test_conversations_are_short_enough_for_a_small_policy(
    world: World, tier: str, characters: int
) -> None:
    for seed in range(30):
        talk = solve(world, world.scenario(seed, tier))
        words = dict.fromkeys(("user", "assistant", "tool"), 0)
        for message in talk:
            words[message.role] = max(words[message.role], len(message.content.split()))
        assert words["user"] <= 30
        assert words["assistant"] <= 20
        assert max(len(m.content) for m in talk if m.role == "tool") <= 90
        calls = "".join(call.model_dump_json() for m in talk for call in m.calls)
        assert len(calls) + sum(len(m.content) for m in talk) <= characters


def _poor(rows: int) -> World:
    """A world whose only wish is about row `1`, lacks nothing and is never refused."""
    one = Subject("1", "row 1", "it", "", Call(name="find", arguments={}), "", ())
    wish = Wish(one, Call(name="do", arguments={}), ("Do it.",), "Done.", "Done")
    table = {str(number): {"n": 0} for number in range(1, rows + 1)}
    domain = Domain(
        lambda rng: table, lambda key, state: one, ("?",), (lambda rng, state, granted: wish,)
    )
    return World("poor", "", (), stories(domain))


@pytest.mark.parametrize("tier", ["two_calls", "trap"])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_domain_without_a_fitting_wish_is_an_error_and_no_endless_search(
    tier: str, rows: int
) -> None:
    with pytest.raises(WorldError, match=f"poor/{tier}/0 cannot be drawn: none of 1000 draws gave"):
        _poor(rows).scenario(0, tier)


def test_only_what_fits_is_drawn() -> None:
    numbers = iter(range(10))
    assert draw(lambda: next(numbers), lambda number: number > 6, "a number over 6") == 7


def test_nothing_to_pick_from_is_a_world_error() -> None:
    with pytest.raises(WorldError, match="there is no open order; correct its rows"):
        pick(Random(0), [], "open order")
