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
from envace.files import write_atomically
from envace.tasks.curation.report import CurationReport
from pipelines import cli_tasks, params, paths, settings, shown, stage, summary

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="From recorded tool-use conversations to a promoted, served agent.",
)
app.add_typer(cli_tasks.app, name="tasks")
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
    _repro("demo")
    summary.show(Console())


@app.command(epilog="Example: envace curate --params profiles/tau2.yaml --out trial")
def curate(
    file: Annotated[
        Path | None, typer.Option("--params", help="By default params.yaml; else with --out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the outcome; by default that of the stage.")
    ] = None,
) -> None:
    """Curates the sources and says where their records went; without --out this is the stage."""
    if file and not out:
        raise ConfigError("got --params alone, expected --out DIR with it: the stage has its own.")
    if not out:
        _repro("curate", "--single-item", "curate")
        report = stage.read(paths.CURATION, CurationReport, "curate")
        page = paths.CURATION_PAGE
    else:
        from pipelines.curate import run

        chosen, page = params.load(file or params.PARAMS), out / paths.CURATION_PAGE.name
        report = run(chosen, out / "tasks", out / paths.CURATION.name, out / "examined")
    Console().print(shown.outcome(report))
    stage.say(f"curate: what was kept, what was dropped and why → {page}")


@app.command(epilog="Example: envace profile ci")
def profile(name: Annotated[str, typer.Argument(help="Name of a file in profiles/.")]) -> None:
    """Makes a shipped profile the active params.yaml; one that was edited is kept beside it."""
    params.load(chosen := _shipped(name))
    shipped = {path: path.read_bytes() for path in sorted(PROFILES.glob("*.yaml"))}
    said = f"profile: params.yaml is {name} now"
    if params.PARAMS.exists() and params.PARAMS.read_bytes() not in shipped.values():
        kept = params.PARAMS.with_suffix(".yaml.before")
        shutil.copyfile(params.PARAMS, kept)
        said += f"; the one before had been edited and is {kept}"
    write_atomically(params.PARAMS, shipped[chosen])
    stage.say(said)


@app.command(epilog="Example: envace explain --profile qwen3-8b")
def explain(
    name: Annotated[
        str | None, typer.Option("--profile", help="Of profiles/; by default params.yaml.")
    ] = None,
) -> None:
    """Says what training would maximise, by which dials, and what it would take."""
    from pipelines import explain

    explain.show(params.load(_shipped(name) if name else params.PARAMS), Console())


def _shipped(name: str) -> Path:
    """The file of a shipped profile. Raises `ConfigError` when there is none of that name."""
    known = {path.stem: path for path in PROFILES.glob("*.yaml")}
    if name not in known:
        raise ConfigError(f"there is no profile '{name}'; {nearest(name, known)}")
    return known[name]


def _repro(command: str, *words: str) -> None:
    """`dvc repro`, with this interpreter's commands first; ends the program when it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    repro = [sys.executable, "-m", "dvc", "repro", *words]
    if subprocess.run(repro, env={**os.environ, "PATH": path}, check=False).returncode:
        sys.exit(
            f"{command}: a stage failed, its sentence is above; correct it and run this again."
        )


Alias = Annotated[str | None, typer.Option(help="Registry alias; by default serve.alias.")]


@app.command(epilog="Example: envace chat --rehearsals 2 --world calendar --alias challenger")
def chat(
    rehearsals: Annotated[
        int | None, typer.Option(min=0, help="N; by default serve.attempts.")
    ] = None,
    world: Annotated[
        str | None, typer.Option(help="World that answers calls; by default serve.world.")
    ] = None,
    alias: Alias = None,
) -> None:
    """Talks to the promoted policy in the terminal; a seeded world executes its calls."""
    from pipelines import served

    chosen = _with(attempts=rehearsals, world=world, alias=alias)
    asyncio.run(served.talk(chosen, Console()))


@app.command(epilog="Example: envace serve --port 8000")
def serve(
    port: Annotated[int | None, typer.Option(help="By default serve.port.")] = None,
    alias: Alias = None,
) -> None:
    """Serves the promoted policy as OpenAI-compatible chat completions with tools."""
    from pipelines import served

    served.listen(_with(port=port, alias=alias))


def _with(**given: object) -> params.Params:
    """The active parameters with what the command line says of `serve`."""
    values = params.plain(params.load())
    values["serve"] |= {name: value for name, value in given.items() if value is not None}
    return params.Params.read(values, "options")


if __name__ == "__main__":
    main()
