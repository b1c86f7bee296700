"""Calendar: events and their reminders; two events never share a date and time."""

from random import Random

from envace import config
from envace.episode import Call
from envace.worlds._stories import (
    FIRST_NAMES,
    Domain,
    Subject,
    Wish,
    day,
    draw,
    ids,
    stories,
    words,
)
from envace.worlds.world import TEXT, WHOLE, Action, Row, State, World, changed, refusal, tool

SYSTEM = (
    "You keep a calendar. Two events cannot share a date and time. Name the event id in replies. "
    "Ask for a missing detail. Only if a tool refuses, say you cannot and why."
)
KINDS = words(
    "lunch call interview dinner training review yoga breakfast meeting workshop coffee rehearsal "
    "planning lesson checkup demo walk tennis budgeting retrospective"
)


class Config(config.Config):
    """It has no parameters."""


def build(config: Config) -> World:
    """The calendar world."""
    actions = (
        Action(tool("find_event", "", title=TEXT), _find),
        Action(tool("add_event", "Needs a free time.", title=TEXT, date=TEXT, time=TEXT), _add),
        Action(tool("move_event", "Needs a free time.", event=TEXT, date=TEXT, time=TEXT), _move),
        Action(tool("set_reminder", "", event=TEXT, minutes=WHOLE), _remind),
    )
    wishes = (_wish_add, _wish_move, _wish_reminder)
    return World("calendar", SYSTEM, actions, stories(Domain(_rows, _subject, QUESTIONS, wishes)))


def _find(state: State, asked: Row) -> tuple[State, Row]:
    for event, row in state.items():
        if row["title"] == asked["title"]:
            return state, {"event": event, "date": row["date"], "time": row["time"]}
    return state, refusal("NOT_FOUND", "No such event.")


def _add(state: State, asked: Row) -> tuple[State, Row]:
    if refused := _taken(state, asked):
        return state, refused
    event = f"E-{1 + max((int(key[2:]) for key in state), default=99)}"
    return changed(state, event, **asked, reminder=0), {"event": event, "status": "added"}


def _move(state: State, asked: Row) -> tuple[State, Row]:
    event, date, time = str(asked["event"]), asked["date"], asked["time"]
    if refused := _missing(state, event) or _taken(state, asked):
        return state, refused
    after = changed(state, event, date=date, time=time)
    return after, {"event": event, "status": "moved"}


def _remind(state: State, asked: Row) -> tuple[State, Row]:
    event, minutes = str(asked["event"]), asked["minutes"]
    if refused := _missing(state, event):
        return state, refused
    return changed(state, event, reminder=minutes), {"event": event, "minutes": minutes}


def _missing(state: State, event: str) -> Row | None:
    return None if event in state else refusal("NOT_FOUND", f"There is no event {event}.")


def _taken(state: State, asked: Row) -> Row | None:
    for event, row in state.items():
        if event != asked.get("event") and _slot(row) == _slot(asked):
            return refusal("SLOT_TAKEN", f"Event {event} is at that time.")
    return None


def _slot(row: Row) -> tuple[str | int, str | int]:
    return row["date"], row["time"]


def _rows(rng: Random) -> State:
    """Five events at different times."""
    titles = [f"{kind} with {rng.choice(FIRST_NAMES)}" for kind in rng.sample(KINDS, 5)]
    state: State = {}
    for event, title in zip(ids(rng, "E", 5), titles, strict=True):
        date, time = _free(rng, state)
        state = changed(state, event, title=title, date=date, time=time, reminder=0)
    return state


def _free(rng: Random, state: State) -> tuple[str, str]:
    """A date and time with no event."""
    taken = {_slot(row) for row in state.values()}
    return draw(
        lambda: (day(rng), f"{rng.randint(8, 19):02}:{rng.choice(('00', '30'))}"),
        lambda slot: slot not in taken,
        "a free time",
    )


QUESTIONS = (
    "When is {it}?",
    "Tell me when {it} is.",
    "On which day and at what time is {it}?",
    "Can you check when {it} is?",
    "Please look up {it}.",
)


def _subject(event: str, state: State) -> Subject:
    title, date, time = (str(state[event][field]) for field in ("title", "date", "time"))
    return Subject(
        id=event,
        by_id=f"event {event}",
        by_name=f"my {title}",
        person="",
        find=Call(name="find_event", arguments={"title": title}),
        told="Event {event} is on {date} at {time}.",
        facts=((date,), (time,)),
    )


def _target(rng: Random, state: State, blocker: str, granted: bool) -> tuple[str, str]:
    """Where a wish wants its event: a free slot, or that of `blocker`."""
    row = state[blocker]
    return _free(rng, state) if granted else (str(row["date"]), str(row["time"]))


def _wish_add(rng: Random, state: State, granted: bool) -> Wish:
    blocker = rng.choice([*state])
    date, time = _target(rng, state, blocker, granted)
    known = {row["title"] for row in state.values()}
    titles = [f"{kind} with {rng.choice(FIRST_NAMES)}" for kind in KINDS]
    title = rng.choice([title for title in titles if title not in known])
    return Wish(
        subject=_subject(blocker, state),
        act=Call(name="add_event", arguments={"title": title, "date": date, "time": time}),
        asks=(
            "Please add {title} on {date} at {time}.",
            "Book {title} for {date} at {time}.",
            "Put {title} in my calendar: {date}, {time}.",
            "Schedule {title}, {date} at {time}.",
        ),
        done="Event {event} is added.",
        fact=f"E-{1 + max(int(key[2:]) for key in state)}",
        cannot=f"I cannot add it: event {blocker} is at that time.",
        why=(blocker, "taken", "at that time", "already", "busy", "conflict"),
        code="SLOT_TAKEN",
        vague=("Please add {title} on {date}.", "Book {title} for {date}."),
        question="What time do you want?",
        missing="time",
    )


def _wish_move(rng: Random, state: State, granted: bool) -> Wish:
    event, blocker = rng.sample([*state], 2)
    date, time = _target(rng, state, blocker, granted)
    return Wish(
        subject=_subject(event, state),
        act=Call(name="move_event", arguments={"event": event, "date": date, "time": time}),
        asks=(
            "Please move {it} to {date} at {time}.",
            "Move {it}, new time {date} {time}.",
            "Can you put {it} on {date} at {time}?",
            "Reschedule {it} for {date} at {time}.",
        ),
        done=f"Event {event} is moved.",
        fact=event,
        cannot=f"I cannot move event {event}: event {blocker} is at that time.",
        why=(blocker, "taken", "at that time", "already", "busy", "conflict"),
        code="SLOT_TAKEN",
        vague=("Please move {it} to {date}.", "Reschedule {it} for {date}."),
        question="What time do you want?",
        missing="time",
        others=(blocker,),
    )


def _wish_reminder(rng: Random, state: State, granted: bool) -> Wish:
    subject = _subject(rng.choice([*state]), state)
    minutes = rng.randrange(5, 125, 5)
    return Wish(
        subject=subject,
        act=Call(name="set_reminder", arguments={"event": subject.id, "minutes": minutes}),
        asks=(
            "Please remind me {minutes} minutes before {it}.",
            "Set a reminder for {it}, {minutes} minutes before.",
            "Remind me of {it} {minutes} minutes ahead.",
        ),
        done=f"Event {subject.id} has a reminder {{minutes}} minutes before.",
        fact=subject.id,
        vague=("Please set a reminder for {it}.", "Remind me of {it}."),
        question="How many minutes before?",
        missing="minutes",
    )
