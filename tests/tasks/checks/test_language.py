"""The language of what is said, where there is enough of it."""

import pickle
from collections.abc import Callable

import pytest

from envace.tasks.checks.language import Language, language_of
from envace.tasks.task import Task

Make = Callable[..., Task]
GERMAN = "Bitte stornieren Sie meine Bestellung und erstatten Sie mir das ganze Geld."
ENGLISH = "Please cancel my order and send me back all of the money that I have paid."
CHINESE = (
    "请取消我的订单并把钱退还到我的账户，谢谢你的帮助，我需要尽快处理这个问题，非常感谢你们的支持"
)
SPANISH = "Quiero cancelar mi pedido y que me devuelvan todo el dinero que he pagado."


def said(make: Make, text: str) -> Task:
    told = [{"role": "user", "content": text}, {"role": "assistant", "content": "OK"}]
    return make(conversation=told)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, "en"),
        (GERMAN, "de"),
        (CHINESE, "zh"),
        (SPANISH, "es"),
        ("Bitte stornieren Sie das.", "und"),  # 21 letters, and 2 of the reply
        ("W2378156 4823 #91 " * 50, "und"),  # 51 letters, but of no language
        ("\x00\ud800" * 500, "und"),
        ("x" * 1_000_000, "und"),
    ],
)
def test_the_language_is_told(make_task: Make, text: str, expected: str):
    assert language_of(said(make_task, text)) == expected


def test_what_tools_answer_is_not_in_the_conversations_language(make_task: Make):
    conversation = [
        {"role": "user", "content": ENGLISH},
        {"role": "assistant", "calls": [{"name": "add_event", "arguments": {}}]},
        {"role": "tool", "name": "add_event", "content": GERMAN * 9},
        {"role": "assistant", "content": "It is cancelled."},
    ]
    assert language_of(make_task(conversation=conversation)) == "en"


def test_a_task_in_another_language_is_dropped_and_a_short_one_is_kept(make_task: Make):
    rule = Language(("en", "fr"))
    assert rule(said(make_task, GERMAN)) == "language: it is in 'de', expected en or fr"
    assert rule(said(make_task, ENGLISH)) is None
    assert rule(said(make_task, "Hallo, wie geht es?")) is None


def test_the_rule_can_be_sent_to_another_process(make_task: Make):
    rule = pickle.loads(pickle.dumps(Language(("de",))))
    assert rule(said(make_task, GERMAN)) is None
