"""How a scenario is drawn: subjects that a user can name, wishes about them, and three tiers.

A domain says how its rows are named and what can be wished of them; the tiers are composed here,
alike for all domains. Wording, names, ids and dates vary with the seed, so that an agent has to
copy them from the conversation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import TypeVar

from envace.episode import Call
from envace.errors import WorldError
from envace.worlds.world import CANNOT, Exchange, State, Story

T = TypeVar("T")

DRAWS = 1000
"""After so many draws that do not fit, none ever will."""


def words(text: str) -> tuple[str, ...]:
    """The words of a pool."""
    return tuple(text.split())


FIRST_NAMES = words(
    "Mia Noah Ava Liam Zoe Omar Lena Ivan Ruth Kofi Nina Hugo Aisha Pavel Greta Tariq Elsa Diego "
    "Maya Jonas Priya Felix Wanda Ravi Clara Samir Hana Oscar Leila Bruno Edith Chen Paula Niels "
    "Amara Victor Yuki Marta Idris Sofia"
)
LAST_NAMES = words(
    "Lopez Berg Novak Silva Okoye Haas Patel Meyer Rossi Tanaka Dubois Khan Larsen Moreau Weiss "
    "Costa Singh Fischer Duarte Olsen Romero Kim Abbas Vogel Mensah Petrov Nagy Walsh Ortega Lind "
    "Sato Brandt Farah Quinn Ferrer Adler Boyd Castro Eriksen Greco"
)
GREETINGS = (
    "I'm {}.",
    "This is {}.",
    "{} here.",
    "My name is {}.",
    "Hi, I'm {}.",
    "Hello, {} here.",
)


@dataclass(frozen=True)
class Subject:
    """A row as a user speaks of it."""

    id: str
    by_id: str
    """For example `order O-482`."""
    by_name: str
    """For example `my lamp order`."""
    person: str
    """Who speaks, where a look-up needs it; else empty."""
    find: Call
    """The call that looks it up."""
    told: str
    """The reply that tells what the look-up found."""
    facts: tuple[tuple[str, ...], ...]
    """What that reply must hold beside the id, which only the look-up gives."""


@dataclass(frozen=True)
class Wish:
    """What a user wants done to a subject, in phrasings with `{it}` and the call's arguments."""

    subject: Subject
    act: Call
    asks: tuple[str, ...]
    done: str
    """The reply when it was carried out."""
    fact: str
    """What that reply must hold."""
    cannot: str = ""
    """The reply when the world refuses."""
    why: tuple[str, ...] = ()
    """The reason, one of which that reply must hold."""
    code: str = ""
    """The world's error code when it refuses."""
    vague: tuple[str, ...] = ()
    """Phrasings in which an argument is missing."""
    question: str = ""
    """The reply that asks for it."""
    missing: str = ""
    """The word that this reply must hold."""
    others: tuple[str, ...] = ()
    """Ids of further rows that decide the outcome."""

    @property
    def rows(self) -> set[str]:
        """Ids that no other wish of the scenario may touch."""
        return {self.subject.id, *self.others}


@dataclass(frozen=True)
class Domain:
    """What a domain gives to its stories."""

    rows: Callable[[Random], State]
    subject: Callable[[str, State], Subject]
    questions: tuple[str, ...]
    """Phrasings with `{it}` that a look-up answers."""
    wishes: tuple[Callable[[Random, State, bool], Wish], ...]
    """Each draws a wish that the world grants (True) or refuses (False)."""


def person(rng: Random) -> str:
    """A full name."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def day(rng: Random) -> str:
    """A date in 2026 or 2027, as in `2026-03-14`."""
    return (date(2026, 1, 1) + timedelta(days=rng.randrange(730))).isoformat()


def ids(rng: Random, prefix: str, count: int) -> list[str]:
    """Distinct ids as in `O-482`, in a random order."""
    return [f"{prefix}-{number}" for number in rng.sample(range(100, 900), count)]


def draw(once: Callable[[], T], fits: Callable[[T], bool], what: str) -> T:
    """The first draw that fits. Raises `WorldError` when none of `DRAWS` does."""
    for _ in range(DRAWS):
        if fits(drawn := once()):
            return drawn
    raise WorldError(f"none of {DRAWS} draws gave {what}; correct its rows or its wishes.")


def pick(rng: Random, among: Sequence[T], what: str) -> T:
    """One of several. Raises `WorldError` when there is none."""
    if not among:
        raise WorldError(f"there is no {what}; correct its rows.")
    return rng.choice(among)


def stories(domain: Domain) -> Mapping[str, Story]:
    """The story of each tier."""

    def one_call(rng: Random) -> tuple[State, tuple[Exchange, ...]]:
        state = domain.rows(rng)
        return state, (_opening(rng, domain, state, set()),)

    def two_calls(rng: Random) -> tuple[State, tuple[Exchange, ...]]:
        state = domain.rows(rng)
        wish = draw(
            lambda: rng.choice(domain.wishes)(rng, state, True),
            lambda wish: "{it}" in wish.asks[0],
            "a granted wish about a row",
        )
        return state, (_granted(rng, wish, look_up=True),)

    def trap(rng: Random) -> tuple[State, tuple[Exchange, ...]]:
        state = domain.rows(rng)
        vague = rng.random() < 0.25
        wish = draw(
            lambda: rng.choice(domain.wishes)(rng, state, vague),
            lambda wish: bool(wish.vague if vague else wish.code),
            "a wish that lacks a detail" if vague else "a wish that is refused",
        )
        looked_up = rng.random() < 0.5
        opening = (
            _look_up(rng, domain, wish.subject)
            if looked_up
            else _opening(rng, domain, state, wish.rows)
        )
        it = "it" if looked_up else wish.subject.by_id
        return state, (opening, (_vague if vague else _refused)(rng, wish, it))

    return {"one_call": one_call, "two_calls": two_calls, "trap": trap}


def _opening(rng: Random, domain: Domain, state: State, but: set[str]) -> Exchange:
    """A request of one call that is granted and touches no row of `but`."""
    if rng.random() < 0.25:
        key = pick(rng, [key for key in state if key not in but], "row to look up")
        return _look_up(rng, domain, domain.subject(key, state))
    wish = draw(
        lambda: rng.choice(domain.wishes)(rng, state, True),
        lambda wish: not wish.rows & but,
        "a granted wish about other rows",
    )
    return _granted(rng, wish, look_up=False)


def _look_up(rng: Random, domain: Domain, subject: Subject) -> Exchange:
    ask = rng.choice(domain.questions).format(it=subject.by_name)
    facts = ((subject.id,), *subject.facts)
    return Exchange(_greeted(rng, subject, ask), (subject.find,), subject.told, facts)


def _granted(rng: Random, wish: Wish, look_up: bool) -> Exchange:
    subject, facts = wish.subject, ((wish.fact,),)
    if not look_up:
        return Exchange(_ask(rng, wish.asks, wish, subject.by_id), (wish.act,), wish.done, facts)
    text = _greeted(rng, subject, _ask(rng, wish.asks, wish, subject.by_name))
    (key,) = (key for key, value in wish.act.arguments.items() if value == subject.id)
    act = Call(name=wish.act.name, arguments={**wish.act.arguments, key: f"{{{key}}}"})
    return Exchange(text, (subject.find, act), wish.done, facts)


def _refused(rng: Random, wish: Wish, it: str) -> Exchange:
    text = _ask(rng, wish.asks, wish, it)
    return Exchange(text, (wish.act,), wish.cannot, (CANNOT, wish.why), wish.code)


def _vague(rng: Random, wish: Wish, it: str) -> Exchange:
    return Exchange(_ask(rng, wish.vague, wish, it), (), wish.question, ((wish.missing,), ("?",)))


def _ask(rng: Random, phrasings: tuple[str, ...], wish: Wish, it: str) -> str:
    return rng.choice(phrasings).format(it=it, **wish.act.arguments)


def _greeted(rng: Random, subject: Subject, ask: str) -> str:
    return f"{rng.choice(GREETINGS).format(subject.person)} {ask}" if subject.person else ask
