import pytest

from envace.episode import Call
from envace.worlds.calendar import Config, build
from envace.worlds.world import Row, State

WORLD = build(Config())
STATE: State = {
    "E-101": {"title": "lunch with Mia", "date": "2026-03-14", "time": "12:00", "reminder": 0},
    "E-102": {"title": "call with Ivan", "date": "2026-03-14", "time": "15:00", "reminder": 0},
}
TAKEN = {"date": "2026-03-14", "time": "15:00"}


def _execute(name: str, **arguments: str | int) -> tuple[State, Row]:
    return WORLD.execute(STATE, Call(name=name, arguments=arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("add_event", {"title": "demo", **TAKEN}, "SLOT_TAKEN"),
        ("move_event", {"event": "E-101", **TAKEN}, "SLOT_TAKEN"),
        ("move_event", {"event": "E-9", **TAKEN}, "NOT_FOUND"),
        ("set_reminder", {"event": "E-9", "minutes": 5}, "NOT_FOUND"),
        ("find_event", {"title": "lunch"}, "NOT_FOUND"),
    ],
)
def test_a_rule_refuses_with_its_code_and_leaves_the_state(
    name: str, arguments: dict[str, str | int], code: str
) -> None:
    after, result = _execute(name, **arguments)
    assert result["error"] == code
    assert after is STATE


def test_a_new_event_gets_the_next_id() -> None:
    after, result = _execute("add_event", title="demo", date="2026-03-15", time="15:00")
    assert result == {"event": "E-103", "status": "added"}
    assert after["E-103"] == {
        "title": "demo",
        "date": "2026-03-15",
        "time": "15:00",
        "reminder": 0,
    }


def test_an_event_may_move_to_its_own_time() -> None:
    result = _execute("move_event", event="E-102", **TAKEN)[1]
    assert result == {"event": "E-102", "status": "moved"}


def test_a_reminder_is_kept_with_its_event() -> None:
    assert _execute("set_reminder", event="E-101", minutes=45)[0]["E-101"]["reminder"] == 45


def test_a_look_up_tells_id_date_and_time() -> None:
    found = _execute("find_event", title="lunch with Mia")[1]
    assert found == {"event": "E-101", "date": "2026-03-14", "time": "12:00"}
