"""`envace …`: what people type. Each command is a few lines around the packages."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from envace.config import nearest
from envace.errors import ConfigError, EnvaceError
from pipelines import params, settings, stage, summary

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="From recorded tool-use conversations to a promoted, served agent.",
)
PROFILES = Path("profiles")


def main() -> None:
    """Entry point: an error of ours is one sentence and exit code 1."""
    settings.calm()
    try:
        app()
    except EnvaceError as error:
        sys.exit(f"envace: {error}")


@app.command(epilog="Example: envace demo")
def demo() -> None:
    """Runs every stage that is not current (`dvc repro`) and says what came of it."""
    chosen = params.load()
    stage.say(f"demo: profile {chosen.profile}; a stage that is current is not run again")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "repro"], env={**os.environ, "PATH": path}, check=False
    )
    if done.returncode:
        sys.exit("demo: a stage failed, its sentence is above; correct it and run this again.")
    summary.show(Console())


@app.command(epilog="Example: envace profile ci")
def profile(name: Annotated[str, typer.Argument(help="Name of a file in profiles/.")]) -> None:
    """Makes a shipped profile the active params.yaml; the old one is kept beside it."""
    known = sorted(path.stem for path in PROFILES.glob("*.yaml"))
    if name not in known:
        raise ConfigError(f"there is no profile '{name}'; {nearest(name, known)}")
    source = PROFILES / f"{name}.yaml"
    params.load(source)
    kept = params.PARAMS.with_suffix(".yaml.before")
    if params.PARAMS.exists():
        shutil.copyfile(params.PARAMS, kept)
    temporary = params.PARAMS.with_suffix(".yaml.part")
    shutil.copyfile(source, temporary)
    temporary.replace(params.PARAMS)
    stage.say(f"profile: params.yaml is {name} now; the one before is {kept}")


@app.command(epilog="Example: envace chat --rehearsals 2 --world calendar")
def chat(
    rehearsals: Annotated[
        int | None, typer.Option(min=0, help="N; by default serve.attempts.")
    ] = None,
    world: Annotated[
        str | None, typer.Option(help="World that answers calls; by default serve.world.")
    ] = None,
) -> None:
    """Talks to the promoted policy in the terminal; a seeded world executes its calls."""
    from pipelines import served

    chosen = params.load()
    asyncio.run(served.talk(chosen, rehearsals, world, Console()))


@app.command(epilog="Example: envace serve --port 8000")
def serve(
    port: Annotated[int | None, typer.Option(help="By default serve.port.")] = None,
) -> None:
    """Serves the promoted policy as OpenAI-compatible chat completions with tools."""
    from pipelines import served

    served.listen(params.load(), port)


if __name__ == "__main__":
    main()
