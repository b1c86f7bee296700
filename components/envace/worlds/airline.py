"""Airline: reservations, of which a basic economy fare can be neither changed nor cancelled."""

from random import Random

from envace import config
from envace.episode import Call
from envace.worlds._stories import Domain, Subject, Wish, day, ids, person, pick, stories, words
from envace.worlds.world import TEXT, WHOLE, Action, Row, State, World, changed, refusal, tool

SYSTEM = (
    "You serve an airline. Basic economy bookings cannot be changed or cancelled. At most 3 bags. "
    "Name the booking id in replies. Ask for a missing detail. Only if a tool refuses, say you "
    "cannot and why."
)
MAX_BAGS = 3
BASIC = "basic economy"
REASONS = ("illness", "work", "weather")
CITIES = words(
    "Lisbon Oslo Vienna Nairobi Lima Tokyo Dublin Cairo Athens Madrid Prague Montreal Seoul "
    "Helsinki Tunis Zurich Porto Quito Hanoi Chicago"
)


class Config(config.Config):
    """It has no parameters."""


def build(config: Config) -> World:
    """The airline world."""
    actions = (
        Action(tool("find_booking", "", passenger=TEXT, city=TEXT), _find),
        Action(tool("change_flight", "Not for basic economy.", booking=TEXT, date=TEXT), _change),
        Action(
            tool(
                "cancel_booking",
                "Not for basic economy.",
                booking=TEXT,
                reason={"type": "string", "enum": [*REASONS]},
            ),
            _cancel,
        ),
        Action(tool("set_bags", "At most 3 bags.", booking=TEXT, bags=WHOLE), _set_bags),
    )
    wishes = (_wish_change, _wish_cancel, _wish_bags)
    return World("airline", SYSTEM, actions, stories(Domain(_rows, _subject, QUESTIONS, wishes)))


def _find(state: State, asked: Row) -> tuple[State, Row]:
    for booking, row in state.items():
        if (row["passenger"], row["city"]) == (asked["passenger"], asked["city"]):
            return state, {"booking": booking, "date": row["date"], "fare": row["fare"]}
    return state, refusal("NOT_FOUND", "No such booking.")


def _change(state: State, asked: Row) -> tuple[State, Row]:
    booking, date = str(asked["booking"]), asked["date"]
    if refused := _unless_flexible(state, booking, "FARE_NOT_CHANGEABLE"):
        return state, refused
    return changed(state, booking, date=date), {"booking": booking, "status": "changed"}


def _cancel(state: State, asked: Row) -> tuple[State, Row]:
    booking = str(asked["booking"])
    if refused := _unless_flexible(state, booking, "FARE_NOT_REFUNDABLE"):
        return state, refused
    after = changed(state, booking, status="cancelled", reason=asked["reason"])
    return after, {"booking": booking, "status": "cancelled"}


def _set_bags(state: State, asked: Row) -> tuple[State, Row]:
    booking, bags = str(asked["booking"]), int(asked["bags"])
    if booking not in state:
        return state, refusal("NOT_FOUND", f"There is no booking {booking}.")
    if not 0 <= bags <= MAX_BAGS:
        return state, refusal("TOO_MANY_BAGS", f"At most {MAX_BAGS} bags.")
    return changed(state, booking, bags=bags), {"booking": booking, "bags": bags}


def _unless_flexible(state: State, booking: str, code: str) -> Row | None:
    if booking not in state:
        return refusal("NOT_FOUND", f"There is no booking {booking}.")
    if state[booking]["status"] == "cancelled":
        return refusal("ALREADY_CANCELLED", f"Booking {booking} is cancelled.")
    if state[booking]["fare"] == BASIC:
        return refusal(code, f"Booking {booking} is {BASIC}.")
    return None


def _rows(rng: Random) -> State:
    """Six bookings of two passengers, half of them basic economy."""
    passengers = (person(rng), person(rng))
    cities = rng.sample(CITIES, 6)
    fares = (BASIC, "standard", BASIC, "business", BASIC, "standard")
    keys = ids(rng, "B", 6)
    return {
        key: {
            "passenger": rng.choice(passengers),
            "city": city,
            "date": day(rng),
            "fare": fare,
            "bags": 0,
            "status": "booked",
        }
        for key, city, fare in zip(keys, cities, fares, strict=True)
    }


QUESTIONS = (
    "When is {it}?",
    "What is the date of {it}?",
    "Can you check {it}?",
    "Tell me when {it} is.",
    "Please look up {it}.",
)


def _subject(booking: str, state: State) -> Subject:
    row = state[booking]
    city, passenger, date = (str(row[field]) for field in ("city", "passenger", "date"))
    return Subject(
        id=booking,
        by_id=f"booking {booking}",
        by_name=f"my flight to {city}",
        person=passenger,
        find=Call(name="find_booking", arguments={"passenger": passenger, "city": city}),
        told="Booking {booking} is on {date}.",
        facts=((date,),),
    )


def _pick(rng: Random, state: State, basic: bool) -> Subject:
    keys = [key for key, row in state.items() if (row["fare"] == BASIC) == basic]
    return _subject(pick(rng, keys, f"fare that is{'' if basic else ' not'} {BASIC}"), state)


def _wish_change(rng: Random, state: State, granted: bool) -> Wish:
    subject = _pick(rng, state, basic=not granted)
    return Wish(
        subject=subject,
        act=Call(name="change_flight", arguments={"booking": subject.id, "date": day(rng)}),
        asks=(
            "Please change {it} to {date}.",
            "Move {it} to {date}.",
            "I need {it} on {date} instead.",
            "Can you put {it} on {date}?",
        ),
        done=f"Booking {subject.id} is changed.",
        fact=subject.id,
        cannot=f"I cannot change booking {subject.id}: it is {BASIC}.",
        why=("basic", "fare"),
        code="FARE_NOT_CHANGEABLE",
        vague=("Please change the date of {it}.", "I want another day for {it}."),
        question="What date do you want?",
        missing="date",
    )


def _wish_cancel(rng: Random, state: State, granted: bool) -> Wish:
    subject = _pick(rng, state, basic=not granted)
    return Wish(
        subject=subject,
        act=Call(
            name="cancel_booking",
            arguments={"booking": subject.id, "reason": rng.choice(REASONS)},
        ),
        asks=(
            "Please cancel {it}, reason: {reason}.",
            "Cancel {it}. The reason is {reason}.",
            "I want to cancel {it}, the reason is {reason}.",
        ),
        done=f"Booking {subject.id} is cancelled.",
        fact=subject.id,
        cannot=f"I cannot cancel booking {subject.id}: it is {BASIC}.",
        why=("basic", "fare"),
        code="FARE_NOT_REFUNDABLE",
        vague=("Please cancel {it}.", "I want to cancel {it}.", "Can you cancel {it}?"),
        question="What is the reason: illness, work or weather?",
        missing="reason",
    )


def _wish_bags(rng: Random, state: State, granted: bool) -> Wish:
    subject = _subject(rng.choice([*state]), state)
    bags = rng.randint(1, MAX_BAGS) if granted else rng.randint(MAX_BAGS + 1, 9)
    return Wish(
        subject=subject,
        act=Call(name="set_bags", arguments={"booking": subject.id, "bags": bags}),
        asks=(
            "Please put {bags} bags on {it}.",
            "I need bags: {bags} on {it}.",
            "Set the number of bags of {it} to {bags}.",
        ),
        done=f"Booking {subject.id} now has bags: {{bags}}.",
        fact=subject.id,
        cannot=f"I cannot set {bags} bags on booking {subject.id}: at most {MAX_BAGS}.",
        why=(f"at most {MAX_BAGS}", "too many", "maximum", "limit"),
        code="TOO_MANY_BAGS",
        vague=("Please add bags to {it}.", "I want more bags on {it}."),
        question="How many bags do you want?",
        missing="bags",
    )
