"""What one step's groups say, by hand."""

from envace.episode import (
    Episode,
    Fault,
    Group,
    Observation,
    Role,
    Sequence,
    Source,
    Span,
    Step,
    Turn,
)
from envace.grpo.advantages import role_wise
from envace.training.health import describe

ESTIMATE = role_wise.build(role_wise.Config())


def sequence(role: Role, outputs: int) -> Sequence:
    spans = (Span(Source.TEMPLATE, (1,)), Span(Source.SAMPLED, (5,), (-1.0,), "v"))
    return Sequence(role, spans * outputs)


def rehearsed(tokens: int, fault: Fault | None = None) -> Observation:
    own = sequence(Role.REHEARSE, 1)
    return Observation({}, Turn(Role.REHEARSE, "", fault=fault, tokens=tokens, sequence=own))


CALLED = Step(Turn(Role.ACT, "", tokens=10), (rehearsed(6),))
CUT = Step(Turn(Role.ACT, "", tokens=20), (rehearsed(8, Fault.TRUNCATED),))
BROKEN = Step(Turn(Role.ACT, "", fault=Fault.EMPTY, tokens=3))
GOOD = Episode("a", ((CALLED,),), sequence(Role.ACT, 1))
LONG = Episode("a", ((CALLED, CUT),), sequence(Role.ACT, 2), fault=Fault.TRUNCATED)
BAD = Episode("a", ((BROKEN,),), sequence(Role.ACT, 1), fault=Fault.EMPTY)
GROUPS = [Group("a", (GOOD, BAD), (1.0, 0.0)), Group("b", (GOOD, LONG), (0.5, None))]


def test_rewards_and_faults_are_of_episodes() -> None:
    found = describe(GROUPS, ESTIMATE)
    assert found["reward/mean"] == 0.5
    assert found["reward/missing"] == 1
    assert found["episode/faulty_share"] == 0.5


def test_each_role_has_its_own_numbers() -> None:
    found = describe(GROUPS, ESTIMATE)
    # ACT: 10, 3, 10, 10, 20 tokens, one of five faulty. REHEARSE: 6, 6, 6, 8, one of four cut.
    assert [found[f"act/{name}"] for name in ("outputs", "well_formed", "truncated", "tokens")] == [
        5,
        0.8,
        0,
        10.6,
    ]
    rehearse = [found[f"rehearse/{name}"] for name in ("outputs", "well_formed", "truncated")]
    assert rehearse == [4, 0.75, 0.25]
    assert found["rehearse/tokens"] == 6.5


def test_a_group_is_dead_in_a_role_without_advantages() -> None:
    found = describe(GROUPS, ESTIMATE)
    # ACT learns from the first group alone; each group has one REHEARSE output with a reward.
    assert (found["act/dead_groups"], found["rehearse/dead_groups"]) == (0.5, 1.0)


def test_a_mean_of_nothing_is_left_out() -> None:
    found = describe([Group("a", (BAD,), (None,))], ESTIMATE)
    assert (found["reward/missing"], found["rehearse/outputs"], found["act/tokens"]) == (1, 0, 3)
    assert not {"reward/mean", "rehearse/tokens", "rehearse/well_formed"} & set(found)


def test_lengths_have_quantiles_and_faults_are_counted_by_their_codes() -> None:
    found = describe(GROUPS, ESTIMATE)
    # ACT: 3, 10, 10, 10, 20 tokens.
    names = ("p10", "p50", "p90", "max")
    assert [found[f"act/tokens_{name}"] for name in names] == [3, 10, 20, 20]
    assert (found["act/fault/EMPTY"], found["rehearse/fault/TRUNCATED"]) == (1, 1)


def test_spread_and_entropy_are_of_the_trained_tokens() -> None:
    found = describe(GROUPS, ESTIMATE)
    # Group a: advantages 0.5 and −0.5; group b has one scored episode, so 0. All log-probs are −1.
    assert found["act/advantage_spread"] == 0.25
    assert found["act/entropy"] == found["rehearse/entropy"] == 1.0
