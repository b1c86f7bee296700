import pytest

from envace.registry.gate import Decision, Finding, Outcome, Paired, Rules, Verdict, decide

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def outcomes(results: str, slice: str = "retail") -> list[Outcome]:
    """One item a letter: `+` passed, `-` failed, `?` not scored."""
    values = {"+": True, "-": False, "?": None}
    return [Outcome(f"item{n}", slice, values[letter]) for n, letter in enumerate(results)]


def compare(candidate: str, reference: str, **rules: float) -> Decision:
    given = Rules.model_validate({"min_items": 1, "margin": 0.5, "max_infra_rate": 0.1, **rules})
    return decide(outcomes(candidate), outcomes(reference), given)


def finding(decision: Decision, name: str) -> Finding:
    return next(each for each in decision.findings if each.name == name)


def test_discordant_items_are_counted_both_ways():
    decision = compare("++-+?", "+-+??")
    assert decision.paired == Paired(n=3, b=1, c=1, both=1)


def test_mcnemar_p_is_exact():
    # b = 8, c = 2: 2 · (C(10,0) + C(10,1) + C(10,2)) / 2^10 = 2 · 56 / 1024
    assert Paired(n=20, b=8, c=2, both=5).p == pytest.approx(0.109375)


def test_mcnemar_p_without_a_difference_is_one():
    assert Paired(n=20, b=0, c=0, both=5).p == 1
    assert Paired(n=20, b=3, c=3, both=5).p == 1


def test_the_interval_of_the_difference_is_agresti_and_mins():
    # n = 98, b = 12, c = 2: d = 10/100; s = √(15 − 100/100)/100 = √14/100 = 0.0374166
    decision = compare("+" * 12 + "-" * 86, "-" * 12 + "+" * 2 + "-" * 84)
    low, high = decision.interval
    assert decision.paired.difference == pytest.approx(0.1)
    assert low == pytest.approx(0.1 - 1.959964 * 0.0374166, abs=1e-6)
    assert high == pytest.approx(0.1 + 1.959964 * 0.0374166, abs=1e-6)


def test_the_detectable_difference_is_that_of_eighty_percent_power():
    # n = 98, no discordant item: s = √1/100; z(0.975) + z(0.8) = 1.959964 + 0.841621
    assert compare("+" * 98, "+" * 98).detectable == pytest.approx(0.02801585, abs=1e-7)


def test_equal_outcomes_on_enough_items_pass():
    decision = compare("+" * 98, "+" * 98, margin=0.02)
    assert decision.verdict is PASS
    assert all(each.passed for each in decision.findings)


def test_equal_outcomes_on_few_items_do_not_show_that_it_is_not_worse():
    # n = 8: d = 0, s = 1/10, the interval reaches −0.196
    decision = compare("+" * 8, "+" * 8, margin=0.1)
    assert decision.verdict is INCONCLUSIVE
    assert finding(decision, "not worse").value == pytest.approx(-0.1959964)


def test_items_that_differ_between_the_sides_block():
    ours, theirs = outcomes("+" * 50), outcomes("+" * 51)
    decision = decide(ours, theirs, Rules(min_items=1, margin=0.5))
    assert (decision.verdict, finding(decision, "same items").value) == (FAIL, 1)


def test_an_item_that_stands_twice_blocks():
    ours = outcomes("+" * 50)
    decision = decide([*ours, ours[0]], outcomes("+" * 50), Rules(min_items=1, margin=0.5))
    assert (decision.verdict, finding(decision, "same items").value) == (FAIL, 1)


@pytest.mark.parametrize("side", ["candidate", "reference"])
def test_too_many_items_lost_to_infrastructure_block(side: str):
    lost, whole = "?" * 2 + "+" * 48, "+" * 50
    sides = (lost, whole) if side == "candidate" else (whole, lost)
    decision = compare(*sides, max_infra_rate=0.03)
    assert decision.verdict is INCONCLUSIVE
    assert finding(decision, f"{side} infra rate").value == pytest.approx(0.04)


def test_too_few_items_block():
    decision = compare("+" * 49, "+" * 49, min_items=50)
    assert decision.verdict is INCONCLUSIVE
    assert not finding(decision, "items").passed


def test_items_that_were_not_scored_do_not_count_as_items():
    decision = compare("+" * 49 + "?", "+" * 50, min_items=50)
    assert finding(decision, "items").value == 49


def test_no_item_at_all_is_no_pass():
    assert compare("", "").verdict is INCONCLUSIVE


def test_a_success_below_the_floor_blocks():
    decision = compare("+" * 10 + "-" * 40, "+" * 10 + "-" * 40, min_success=0.25)
    assert (decision.verdict, finding(decision, "floor").value) == (FAIL, 0.2)


def test_a_worse_candidate_fails():
    # n = 98, c = 20: d = −0.2, s = √(21 − 4)/100 = 0.04123, interval [−0.281, −0.119]
    decision = compare("-" * 20 + "+" * 78, "+" * 98, margin=0.1)
    assert (decision.verdict, finding(decision, "not worse").verdict) == (FAIL, FAIL)


def test_slightly_worse_within_the_margin_is_not_worse():
    # n = 398, c = 8: d = −0.02, s = √(9 − 0.16)/400 = 0.007433, interval [−0.035, −0.005]
    assert compare("-" * 8 + "+" * 390, "+" * 398, margin=0.04).verdict is PASS


def test_an_interval_around_the_margin_is_inconclusive():
    # n = 98, b = c = 10: d = 0, s = √21/100 = 0.0458, interval ±0.0898
    half = "+" * 10 + "-" * 10
    decision = compare(half + "+" * 78, "-" * 10 + "+" * 10 + "+" * 78, margin=0.08)
    assert decision.verdict is INCONCLUSIVE


def test_a_required_improvement_that_is_not_shown_blocks():
    # b = 5, c = 0: p = 2/32 = 0.0625
    sides = "+" * 98, "-" * 5 + "+" * 93
    assert compare(*sides).verdict is PASS
    decision = compare(*sides, require_improvement=True)
    assert (decision.verdict, finding(decision, "better").value) == (INCONCLUSIVE, 0.0625)


def test_a_required_improvement_that_is_shown_passes():
    # b = 6, c = 0: p = 2/64 = 0.03125
    assert compare("+" * 98, "-" * 6 + "+" * 92, require_improvement=True).verdict is PASS


def test_a_significant_loss_is_no_improvement():
    decision = compare("-" * 6 + "+" * 92, "+" * 98, require_improvement=True)
    assert finding(decision, "better").verdict is FAIL


def test_slices_are_counted_apart():
    ours = [*outcomes("+-", "a"), Outcome("other", "b", True)]
    theirs = [*outcomes("++", "a"), Outcome("other", "b", False)]
    found = decide(ours, theirs, Rules()).slices
    assert [(s.name, s.items, s.candidate, s.reference) for s in found] == [
        ("a", 2, 1, 2),
        ("b", 1, 1, 0),
    ]
