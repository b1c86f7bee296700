from collections.abc import Callable
from math import fsum
from typing import Any

import pytest

from envace.tasks.labels.judged import Fitness, Item, Labels, labelled, problem, unsure
from envace.tasks.task import Task

MakeTask = Callable[..., Task]
ITEM: dict[str, Any] = {
    "id": "polite",
    "question": "Does the reply say that it is done?",
    "focus_on": "assistant.content.user_visible_reply",
    "pass_condition": "The reply tells the user that the event is there.",
    "failure_examples": ("No reply.",),
    "evidence": ("Done.",),
    "dependence": ("made",),
    "weight": 0.5,
}


def labels(*items: dict[str, Any]) -> Labels:
    return Labels(turns=(tuple(Item(**{**ITEM, **item}) for item in items),))


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"dependence": ()},
        {"evidence": ('"arguments": {"title": "Lunch"', "Lunch on 2\n March", '{"id": "E1"}')},
        {"weight": 1},
    ],
)
def test_labels_that_the_recording_bears_out_hold(
    make_task: MakeTask, item: dict[str, Any]
) -> None:
    assert problem(make_task(), labels(item)) is None
    assert problem(make_task(checklists=[]), labels({"dependence": ()})) is None


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([{"id": "made"}], "id: it is not a name of its own (item 'made' of turn 0)"),
        ([{}, {}], "id: it is not a name of its own (item 'polite' of turn 0)"),
        ([{"id": "a b"}], "id: it is not a name of its own (item 'a b' of turn 0)"),
        ([{"question": " "}], "text: a text is empty or longer than 500 characters"),
        ([{"pass_condition": "x" * 501}], "text: a text is empty or longer than 500 characters"),
        ([{"evidence": ()}], "evidence: there is none"),
        ([{"evidence": ("Dinner",)}], "evidence: 'Dinner' is not in the messages of the turn"),
        ([{"evidence": ("You keep",)}], "evidence: 'You keep' is not in the messages of the turn"),
        ([{"dependence": ("x",)}], "dependence: 'x' is no earlier item of its turn"),
        ([{"dependence": ("polite",)}], "dependence: 'polite' is no earlier item of its turn"),
        ([{"weight": 0}], "weight: 0.0 is not from 0.01 to 1"),
        ([{"weight": 2}], "weight: 2.0 is not from 0.01 to 1"),
        ([{"id": f"i{n}"} for n in range(7)], "items: turn 0 has 7 items, limit 6"),
    ],
)
def test_labels_that_do_not_hold_say_why(
    make_task: MakeTask, items: list[dict[str, Any]], said: str
) -> None:
    found = problem(make_task(), labels(*items))
    assert found is not None
    assert found.startswith(said)


def test_there_is_a_list_of_items_for_each_turn(make_task: MakeTask) -> None:
    assert problem(make_task(), Labels(turns=())) == "turns: it has 0 lists of items for 1 turns"


def test_judged_items_get_their_share_of_the_score(make_task: MakeTask) -> None:
    task = labelled(make_task(), labels({}, {"id": "true", "weight": 0.25}), 0.3)
    (items,) = task.checklists
    weights = {item.id: round(item.weight, 12) for item in items}
    assert weights == {"made": 0.7, "polite": 0.2, "true": 0.1}
    assert fsum(item.weight for item in items) == 1
    assert [item.check is None for item in items] == [False, True, True]
    assert not any(item.required_for_next_turn for item in items[1:])


def test_a_turn_without_new_items_stays_as_it_is(make_task: MakeTask) -> None:
    assert labelled(make_task(), labels(), 0.3) == make_task()


def test_judged_items_alone_are_the_whole_score(make_task: MakeTask) -> None:
    (items,) = labelled(make_task(checklists=[]), labels({}), 0.3).checklists
    assert [item.weight for item in items] == [1]


def test_a_verdict_must_not_contradict_itself() -> None:
    assert unsure(Fitness(keep=True, code="ok", detail="")) is None
    assert unsure(Fitness(keep=False, code="harmful", detail="")) is None
    assert unsure(Fitness(keep=False, code="ok", detail="")) == (
        "code: keep is false, but the code is 'ok'"
    )
