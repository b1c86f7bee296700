"""Source: conversations recorded in executable worlds, as a team's logs would hold them.

Source: the worlds of `envace.worlds`, played by their scripted solver.
License: that of this project.
Schema: messages, calls and results; checklists are derived from these, not from the world.
Size: as many as asked, one a (domain, tier, seed).

Held-out domains and seeds are refused, so that an evaluation in the worlds meets nothing that was
trained on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Self

from pydantic import Field, JsonValue, model_validator

from envace import config, plugins
from envace.config import nearest
from envace.episode import Call, Message, Tool
from envace.errors import ConfigError
from envace.strict_json import dumps
from envace.tasks.checks.dialect import arguments_errors
from envace.tasks.labels.recorded import checklists
from envace.tasks.source import Part, Source
from envace.tasks.task import Task
from envace.worlds.world import HELD_OUT_SEED, TIERS, World, solve


class Config(config.Config):
    """Which conversations are recorded."""

    domains: tuple[str, ...] = Field(default=("calendar", "retail"), min_length=1)
    """Worlds, by name."""
    tiers: tuple[str, ...] = Field(default=TIERS, min_length=1)
    """Tiers of difficulty, by name."""
    conversations: int = Field(default=100, gt=0)
    """Conversations a domain and tier."""
    first_seed: int = Field(default=0, ge=0)
    """Seed of the first conversation of each domain and tier; the others follow it."""
    bad_call_share: float = Field(default=0.1, ge=0, le=1)
    """Share of the conversations with calls in which one is first made wrongly, then repaired."""
    held_out_domains: tuple[str, ...] = ("airline",)
    """Worlds that are kept for evaluation."""

    @model_validator(mode="after")
    def _nothing_held_out(self) -> Self:
        if both := set(self.domains) & set(self.held_out_domains):
            raise ConfigError(f"'{min(both)}' is held out for evaluation; take it from domains.")
        if self.first_seed + self.conversations > HELD_OUT_SEED:
            raise ConfigError(
                f"the last seed is {self.first_seed + self.conversations - 1}, but seeds from "
                f"{HELD_OUT_SEED} on are held out; lower first_seed or conversations."
            )
        return self

    @model_validator(mode="after")
    def _all_known(self) -> Self:
        worlds = plugins.names("envace.worlds")
        for kind, given, known in (
            ("world", (*self.domains, *self.held_out_domains), worlds),
            ("tier", self.tiers, TIERS),
        ):
            for name in given:
                if name not in known:
                    raise ConfigError(f"there is no {kind} '{name}'; {nearest(name, known)}")
        return self


@dataclass(frozen=True)
class Recordings:
    """Every conversation once: by domain, then tier, then seed."""

    config: Config

    def parts(self) -> Sequence[Part]:
        """One a domain and tier."""
        first = self.config.first_seed
        last, spoilt = first + self.config.conversations, self.config.bad_call_share
        return [
            Part(
                name=(name := f"{domain}/{tier}/{first}-{last}"),
                key=f"{name} {spoilt}",
                place=f"{domain}/{tier}",
                start=first,
                stop=last,
            )
            for domain in self.config.domains
            for tier in self.config.tiers
        ]

    def read(self, part: Part) -> Iterator[Task]:
        """Solves and records each scenario. Raises `WorldError` for one that cannot be solved."""
        domain, _, tier = part.place.partition("/")
        world = plugins.choose("envace.worlds", domain).build()
        for seed in range(part.start, part.stop):
            yield self._record(world, tier, seed)

    def _record(self, world: World, tier: str, seed: int) -> Task:
        scenario = world.scenario(seed, tier)
        conversation = solve(world, scenario)
        rng = Random(f"bad call/{scenario.id}")
        if rng.random() < self.config.bad_call_share:
            conversation = _with_bad_call(conversation, world.tools, rng)
        return Task(
            id=f"worlds/{scenario.id}",
            source="worlds",
            domain=world.domain,
            tier=tier,
            family=f"worlds/{world.domain}",
            system=world.system,
            tools=world.tools,
            conversation=conversation,
            checklists=checklists(conversation, world.tools),
        )


def build(config: Config, cache: object) -> Source:
    """The recordings of the configured worlds; nothing is fetched, so `cache` stays unused."""
    return Recordings(config)


def _with_bad_call(
    conversation: Sequence[Message], tools: Sequence[Tool], rng: Random
) -> tuple[Message, ...]:
    """The conversation with one of its calls first made wrongly and refused by the checks."""
    places = [index for index, message in enumerate(conversation) if message.calls]
    if not places:
        return tuple(conversation)
    place = rng.choice(places)
    (call,) = conversation[place].calls
    bad = _spoilt(call, rng)
    errors = arguments_errors(next(tool for tool in tools if tool.name == call.name), bad.arguments)
    error: JsonValue = {
        "code": "INVALID_PARAMETERS",
        "message": f"{call.name} got invalid arguments",
        "details": {"errors": [*errors]},
    }
    mistake = (
        Message(role="assistant", calls=(bad,)),
        Message(role="tool", name=call.name, content=dumps({"error": error})),
    )
    return (*conversation[:place], *mistake, *conversation[place:])


def _spoilt(call: Call, rng: Random) -> Call:
    """`call` with one argument left out or of the wrong type."""
    key = rng.choice(sorted(call.arguments))
    others = {name: value for name, value in call.arguments.items() if name != key}
    if len(call.arguments) > 1 and rng.random() < 0.5:
        return Call(name=call.name, arguments=others)
    value = call.arguments[key]
    wrong: JsonValue = [value] if isinstance(value, str) else str(value)
    return Call(name=call.name, arguments={**others, key: wrong})
