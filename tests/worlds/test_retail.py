import pytest

from envace.episode import Call
from envace.worlds.retail import Config, build
from envace.worlds.world import Row, State

WORLD = build(Config())
ORDERED = {"customer": "Mia Berg", "quantity": 1}
STATE: State = {
    "O-1": {**ORDERED, "item": "lamp", "status": "pending"},
    "O-2": {**ORDERED, "item": "desk", "status": "shipped"},
    "O-3": {**ORDERED, "item": "rug", "status": "delivered"},
}


def _execute(name: str, **arguments: str | int) -> tuple[State, Row]:
    return WORLD.execute(STATE, Call(name=name, arguments=arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("cancel_order", {"order": "O-2", "reason": "late"}, "NOT_PENDING"),
        ("set_quantity", {"order": "O-3", "quantity": 2}, "NOT_PENDING"),
        ("return_order", {"order": "O-2"}, "NOT_DELIVERED"),
        ("return_order", {"order": "O-9"}, "NOT_FOUND"),
        ("find_order", {"customer": "Mia Berg", "item": "tent"}, "NOT_FOUND"),
    ],
)
def test_a_rule_refuses_with_its_code_and_leaves_the_state(
    name: str, arguments: dict[str, str | int], code: str
) -> None:
    after, result = _execute(name, **arguments)
    assert result["error"] == code
    assert after is STATE


def test_a_pending_order_can_be_cancelled_and_changed() -> None:
    cancelled, result = _execute("cancel_order", order="O-1", reason="late")
    assert result == {"order": "O-1", "status": "cancelled"}
    assert (cancelled["O-1"]["status"], cancelled["O-1"]["reason"]) == ("cancelled", "late")
    assert _execute("set_quantity", order="O-1", quantity=5)[0]["O-1"]["quantity"] == 5


def test_a_delivered_order_can_be_returned() -> None:
    assert _execute("return_order", order="O-3")[0]["O-3"]["status"] == "returning"


def test_a_look_up_gives_the_id_that_the_next_call_needs() -> None:
    found = _execute("find_order", customer="Mia Berg", item="desk")[1]
    assert found == {"order": "O-2", "status": "shipped"}
