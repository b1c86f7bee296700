import pytest

from envace.episode import Call
from envace.worlds.airline import Config, build
from envace.worlds.world import Row, State

WORLD = build(Config())
BOOKED = {"passenger": "Mia Berg", "date": "2026-01-01", "bags": 0, "status": "booked"}
STATE: State = {
    "B-1": {**BOOKED, "city": "Oslo", "fare": "basic economy"},
    "B-2": {**BOOKED, "city": "Lima", "fare": "standard"},
}


def _execute(name: str, **arguments: str | int) -> tuple[State, Row]:
    return WORLD.execute(STATE, Call(name=name, arguments=arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("change_flight", {"booking": "B-1", "date": "2026-05-05"}, "FARE_NOT_CHANGEABLE"),
        ("cancel_booking", {"booking": "B-1", "reason": "work"}, "FARE_NOT_REFUNDABLE"),
        ("set_bags", {"booking": "B-2", "bags": 4}, "TOO_MANY_BAGS"),
        ("set_bags", {"booking": "B-9", "bags": 1}, "NOT_FOUND"),
        ("change_flight", {"booking": "B-9", "date": "2026-05-05"}, "NOT_FOUND"),
        ("find_booking", {"passenger": "Mia Berg", "city": "Cairo"}, "NOT_FOUND"),
    ],
)
def test_a_rule_refuses_with_its_code_and_leaves_the_state(
    name: str, arguments: dict[str, str | int], code: str
) -> None:
    after, result = _execute(name, **arguments)
    assert result["error"] == code
    assert after is STATE


def test_the_fare_decides_whether_a_flight_may_be_changed() -> None:
    after, result = _execute("change_flight", booking="B-2", date="2026-05-05")
    assert result == {"booking": "B-2", "status": "changed"}
    assert after["B-2"]["date"] == "2026-05-05"
    refused = _execute("change_flight", booking="B-1", date="2026-05-05")[1]
    assert refused["message"] == "Booking B-1 is basic economy."


def test_a_cancelled_booking_cannot_be_changed() -> None:
    state, _ = _execute("cancel_booking", booking="B-2", reason="work")
    change = Call(name="change_flight", arguments={"booking": "B-2", "date": "2026-05-05"})
    assert WORLD.execute(state, change)[1]["error"] == "ALREADY_CANCELLED"


def test_a_look_up_tells_id_date_and_fare() -> None:
    found = _execute("find_booking", passenger="Mia Berg", city="Oslo")[1]
    assert found == {"booking": "B-1", "date": "2026-01-01", "fare": "basic economy"}


def test_bags_are_set_even_on_a_basic_fare() -> None:
    assert _execute("set_bags", booking="B-1", bags=3)[0]["B-1"]["bags"] == 3
