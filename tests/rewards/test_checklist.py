import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue

from envace.episode import Call, Episode, Fault, Message, Observation, Role, Step, Turn
from envace.episode import Sequence as Tokens
from envace.rehearsal.protocol import refuse
from envace.rewards.checklist import Checklist, holds, score_turn
from envace.rewards.reward import Missing, Valid
from envace.tasks.task import (
    CallMade,
    Check,
    ChecklistItem,
    ObservationHas,
    OnlyCalls,
    ReplyHas,
    Task,
)


def called(name: str = "find", result: JsonValue = None, **arguments: JsonValue) -> Step:
    call = Call(name=name, arguments=arguments)
    return Step(Turn(Role.ACT, "", (call,)), (Observation(result or {"ok": True}),))


def replied(text: str) -> Step:
    return Step(Turn(Role.ACT, text, reply=text))


def item(
    name: str,
    weight: float,
    check: Check | None,
    required: bool = False,
    dependence: tuple[str, ...] = (),
) -> ChecklistItem:
    return ChecklistItem(
        id=name,
        question="?",
        focus_on="assistant.tool_calls",
        pass_condition="",
        weight=weight,
        required_for_next_turn=required,
        dependence=dependence,
        check=check,
    )


MADE = item("made", 0.5, CallMade(name="find", arguments={"order": 7}), required=True)
ONLY = item("only", 0.2, OnlyCalls(names=("find",)))
SAID = item("said", 0.3, ReplyHas(any_of=("sent", "on its way")), dependence=("made",))
TURN = (MADE, ONLY, SAID)


def task(*checklists: Sequence[ChecklistItem]) -> Task:
    return Task(
        id="t",
        source="test",
        domain="orders",
        tier="one",
        system="",
        tools=(),
        conversation=tuple(Message(role="user", content="?") for _ in checklists),
        checklists=tuple(map(tuple, checklists)),
    )


def score(task: Task, *rounds: tuple[Step, ...], fault: Fault | None = None) -> Valid | Missing:
    episode = Episode("t", rounds, Tokens(Role.ACT), (), fault)
    return asyncio.run(Checklist().score(task, episode))


GOOD = (called(order=7), replied("It is SENT."))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (GOOD, 0.5 + 0.2 + 0.3),
        ((called(order=7), replied("No idea.")), 0.5 + 0.2),
        ((called(order=7), called("buy"), replied("Sent.")), 0.5 + 0.3),
        ((called(order=8), called(order=7), replied("Sent.")), 1.0),
        ((called(order=8), replied("Sent.")), 0.2),
        ((replied("Sent."),), 0.2),
        ((replied(" "),), 0.0),
        ((), 0.0),
    ],
)
def test_a_turn_scores_the_weights_of_what_it_passes(
    steps: tuple[Step, ...], expected: float
) -> None:
    assert score_turn(TURN, steps) == pytest.approx(expected)


def test_the_reward_is_the_mean_over_the_turns_of_the_recording() -> None:
    assert score(task(TURN, TURN), GOOD, (called(order=7), replied("?"))) == Valid(0.85)


def test_a_turn_that_was_not_reached_scores_nothing() -> None:
    assert score(task(TURN, TURN, TURN, TURN), GOOD) == Valid(0.25)


def test_a_fault_gives_its_turn_nothing_and_leaves_the_turns_before_it() -> None:
    assert score(task(TURN, TURN), GOOD, GOOD, fault=Fault.NO_TAG) == Valid(0.5)
    assert score(task(TURN), GOOD, fault=Fault.TOO_MANY_STEPS) == Valid(0.0)


def test_an_item_that_needs_a_judge_makes_the_reward_missing() -> None:
    judged = item("judged", 1, None)
    missing = Missing("t has an item that only a judge can decide")
    assert score(task(TURN, [judged]), GOOD) == missing


def test_a_task_without_checklists_has_no_reward_and_goes_on() -> None:
    assert score(task(), GOOD) == Missing("t has no checklist")
    assert Checklist().goes_on(task(), (GOOD,))


def test_the_next_turn_follows_when_the_last_passed_all_that_is_required() -> None:
    both = task(TURN, (ONLY,))
    goes_on = Checklist().goes_on
    assert goes_on(both, ((called(order=7), replied("?")),))
    assert not goes_on(both, ((called(order=8), replied("Sent.")),))
    assert goes_on(both, ((), (called("buy"),)))


def test_a_required_item_counts_only_with_what_it_depends_on() -> None:
    asked = SAID.model_copy(update={"required_for_next_turn": True, "dependence": ("made",)})
    assert not Checklist().goes_on(task((MADE, asked)), ((replied("Sent."),),))


def test_an_item_that_depends_on_an_unknown_one_never_passes() -> None:
    assert score_turn((item("a", 1, ONLY.check, dependence=("b",)),), ()) == 0


@pytest.mark.parametrize(
    ("wanted", "made"),
    [
        (1, True),
        (1, 1.5),
        (0, False),
        (1, "1"),
        (None, ""),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_values_of_another_kind_or_order_do_not_match(wanted: JsonValue, made: JsonValue) -> None:
    assert not holds(CallMade(name="find", arguments={"x": wanted}), [called(x=made)])
    seen = [called(result={"x": made})]
    assert not holds(ObservationHas(name="find", fields={"x": wanted}), seen)


@pytest.mark.parametrize(
    ("wanted", "made"), [(1, 1.0), (2.0, 2), ([1, {"a": 3.0}], [1.0, {"a": 3}]), (0, -0.0)]
)
def test_a_whole_number_is_the_same_as_a_float(wanted: JsonValue, made: JsonValue) -> None:
    assert holds(CallMade(name="find", arguments={"x": wanted}), [called(x=made)])
    seen = [called(result={"x": made, "y": 1})]
    assert holds(ObservationHas(name="find", fields={"x": wanted}), seen)


def test_prose_may_be_any_text_but_must_be_there() -> None:
    check = CallMade(name="tell", arguments={"to": "Mia", "text": "It is late."}, loose=("text",))
    assert holds(check, [called("tell", to="Mia", text="Sorry, late!")])
    assert not holds(check, [called("tell", to="Max", text="It is late.")])
    assert not holds(check, [called("tell", to="Mia")])
    for bad in ("", " ", 7, None, ["It is late."]):
        assert not holds(check, [called("tell", to="Mia", text=bad)])


def test_the_order_of_a_set_is_free_but_its_items_are_not() -> None:
    check = CallMade(name="send", arguments={"ids": ["a", "b", "b"]}, unordered=("ids",))
    assert holds(check, [called("send", ids=["b", "a", "b"])])
    for bad in (["a", "b"], ["a", "a", "b"], ["a", "b", "b", "c"], "abb", None, {"a": "b"}):
        assert not holds(check, [called("send", ids=bad)])


def test_lists_that_belong_together_are_reordered_together() -> None:
    lists: dict[str, JsonValue] = {"old": ["a", "b"], "new": ["c", "d"]}
    check = CallMade(name="swap", arguments=lists, unordered=("old", "new"))
    assert holds(check, [called("swap", old=["b", "a"], new=["d", "c"])])
    assert not holds(check, [called("swap", old=["b", "a"], new=["c", "d"])])
    assert not holds(check, [called("swap", old=["a", "b"], new=["c"])])


@pytest.mark.parametrize("names", [{"unordered": ("y",)}, {"loose": ("y",)}, {"unordered": ("x",)}])
def test_a_check_of_lists_or_texts_that_are_none_never_passes(names: dict[str, Any]) -> None:
    check = CallMade(name="find", arguments={"x": 1}, **names)
    assert not holds(check, [called(x=1)])


def test_a_check_without_free_arguments_is_written_and_read_as_ever() -> None:
    old = {"kind": "call_made", "name": "find", "arguments": {"x": 1}}
    assert CallMade.model_validate(old) == CallMade(name="find", arguments={"x": 1})


def test_a_perfect_turn_of_any_weights_is_exactly_one() -> None:
    items = tuple(item(str(n), 0.1, ONLY.check) for n in range(10))
    assert sum([0.1] * 10) < 1
    assert score(task(items, items, items), *[(called(),)] * 3) == Valid(1.0)


def test_the_order_of_keys_does_not_matter_at_any_depth() -> None:
    check = CallMade(name="find", arguments={"a": [{"x": 1, "y": 2}], "b": None})
    assert holds(check, [called(b=None, a=[{"y": 2, "x": 1}])])


def test_a_call_has_exactly_the_arguments() -> None:
    check = CallMade(name="find", arguments={"order": 7})
    assert not holds(check, [called(order=7, open=True)])
    assert not holds(check, [called("buy", order=7)])


def test_a_response_may_hold_more_than_the_fields_that_are_asked_for() -> None:
    check = ObservationHas(name="find", fields={"status": "sent"})
    assert holds(
        check, [called(result={"status": "lost"}), called(result={"status": "sent", "n": 1})]
    )
    assert not holds(check, [called(result={"state": "sent"})])
    assert not holds(check, [called(result=[{"status": "sent"}])])
    assert not holds(check, [called("buy", result={"status": "sent"})])


def test_no_call_at_all_may_be_asked_for() -> None:
    assert holds(OnlyCalls(names=()), [replied("Which order?")])
    assert not holds(OnlyCalls(names=()), [replied("")])
    assert not holds(OnlyCalls(names=()), [called()])


def test_a_refused_call_counts_as_made() -> None:
    bad = Call(name="find", arguments={})
    step = Step(Turn(Role.ACT, "", (bad,)), (refuse("INVALID_PARAMETERS", "bad", []),))
    assert holds(CallMade(name="find", arguments={}), [step])
    assert not holds(OnlyCalls(names=()), [step])


def test_a_reply_has_whole_words_only() -> None:
    check = ReplyHas(any_of=("O-482",))
    assert holds(check, [replied("Order o-482 is sent.")])
    assert not holds(check, [replied("Order O-4821 is sent.")])


def test_a_question_mark_is_found_wherever_it_stands() -> None:
    assert holds(ReplyHas(any_of=("?",)), [replied("Which one?")])
