"""The promoted policy, taken from the registry for `envace serve` and `envace chat`."""

import uvicorn
from rich.console import Console

from envace import plugins
from envace.errors import RegistryError
from envace.inference.chat import load_renderer
from envace.registry.models import Registry
from envace.registry.store import verify
from envace.rehearsal.act import Actor
from envace.rollout.agent import Agent
from envace.serving.app import create_app
from envace.serving.chat import Setting, chat
from envace.serving.wire import Identity
from envace.worlds.world import HELD_OUT_SEED, TIERS, World, WorldEnvironment
from pipelines import policies, stage
from pipelines.params import Params
from pipelines.settings import Settings

STYLES = {"memory": "dim italic", "call": "cyan", "result": "green", "fault": "red"}


def promoted(params: Params) -> tuple[Agent, Identity]:
    """The agent behind the served alias, its bytes verified."""
    name, alias = params.register_.name, params.serve.alias
    version = Registry(Settings.load().tracking_uri, name).alias(alias)
    if version is None:
        raise RegistryError(
            f"no version of {name} is {alias} yet; run 'envace demo'. If it ended without a "
            "promotion, reports/decision.md says why, and '--alias challenger' takes the newest."
        )
    verify(version.path)
    policy, renderer = policies.policy(params, version.path), load_renderer(version.path)
    agent = Agent(Actor(policy, renderer, params.serve.budget), params.serve.rules)
    return agent, Identity(model=name, alias=alias, version=version.number, digest=version.digest)


def listen(params: Params) -> None:
    """Serves until it is interrupted."""
    agent, identity = promoted(params)
    host, port = params.serve.host, params.serve.port
    stage.say(f"serve: {identity.model} version {identity.version} at http://{host}:{port}/v1")
    uvicorn.run(create_app(agent, identity), host=host, port=port, log_level="warning")


async def talk(params: Params, console: Console) -> None:
    """A conversation in the terminal, in a held-out scenario of a world."""
    agent, identity = promoted(params)
    place: World = plugins.choose("envace.worlds", params.serve.world).build()
    scenario = place.scenario(HELD_OUT_SEED + params.seed, TIERS[0])
    attempts = params.serve.attempts
    environment = WorldEnvironment(place, scenario.state)
    setting = Setting(place.system, place.tools, environment, attempts, params.seed)
    console.print(f"{identity.model} version {identity.version} in {place.domain}, N={attempts}.")
    console.print(f"You could say: {scenario.user_messages[0]}  (Ctrl-D ends)", style="dim")

    def read() -> str | None:
        try:
            return console.input("[bold]you[/] ")
        except (EOFError, KeyboardInterrupt):
            return None

    def write(who: str, text: str) -> None:
        console.print(f"{who} {text}", style=STYLES.get(who), markup=False, highlight=False)

    await chat(agent, setting, read, write)
