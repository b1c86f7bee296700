"""`envace tasks …`: a look at the curated tasks, and at why a record is not among them."""

import difflib
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from envace.errors import TaskError
from envace.tasks.reports import stats as tasks_stats
from envace.tasks.reports.explain import explain
from envace.tasks.source import Rejected
from envace.tasks.store import read_rejected, read_tasks, table
from envace.tasks.task import Task
from pipelines import paths, shown, stage

app = typer.Typer(no_args_is_help=True, help="Shows curated tasks, and counts them.")
Folder = Annotated[
    Path, typer.Option("--tasks", help="Folder that a curation wrote, with train/ and heldout/.")
]
SIDES = ("train", "heldout")
FACTS = ("source", "domain", "tier", "family", "language", "n_tokens")
NEIGHBOURS = 1_000
"""Ids on each side of an unknown one, in their order, among which the nearest are looked for."""


@app.command(epilog="Example: envace tasks show worlds/retail/one_call/0")
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="Of a task, or of a dropped record.")],
    tasks: Folder = paths.TASKS,
) -> None:
    """Prints a task as a conversation, with its tools and its checklists; or why it was dropped."""
    console = Console()
    found = _found(tasks, name)
    if found:
        console.print(shown.task(*found))
    dropped = [one for one in read_rejected(tasks / "rejected") if one.record == name]
    for one in dropped:
        console.print(_dropped(one))
    if not found and not dropped:
        raise TaskError(f"there is no task '{shown.plain(name)}'; {_nearest(tasks, name)}")


@app.command(epilog="Example: envace tasks stats --by tier --html stats.html")
def stats(
    by: Annotated[
        Literal["domain", "source", "tier", "family", "language"],
        typer.Option(help="What tells the slices apart."),
    ] = "domain",
    html: Annotated[Path | None, typer.Option(help="Writes a page with plots there.")] = None,
    tasks: Folder = paths.TASKS,
) -> None:
    """Counts the tasks of each slice and side, with medians and (90th percentiles)."""
    found = tasks_stats.stats(tasks / "train", tasks / "heldout", by)
    Console().print(shown.slices(found))
    if html:
        tasks_stats.write_page(found, html)
        stage.say(f"tasks: plots → {html}")


def _found(tasks: Path, name: str) -> tuple[Task, Mapping[str, object]] | None:
    """The task of this id, and what stands above it."""
    for side in SIDES:
        place = _ids(tasks, side).index(name).as_py()
        if place >= 0:
            (facts,) = table(tasks / side, FACTS).slice(place, 1).to_pylist()
            known = {key: value for key, value in facts.items() if value not in (None, "")}
            return read_tasks(tasks / side)[place], {"side": side, **known}
    return None


def _ids(tasks: Path, side: str) -> Any:
    return table(tasks / side, ["id"]).column("id")


def _dropped(one: Rejected) -> Text:
    code = one.reason.partition(":")[0]
    said = f"{one.source} {one.record} was dropped: {one.reason}"
    return Text.assemble(shown.plain(said), "\n", (explain(code), "dim"))


def _nearest(tasks: Path, name: str) -> str:
    """A clause that helps after an unknown id: those that hold it, else the closest in writing."""
    known = sorted(one for side in SIDES for one in _ids(tasks, side).to_pylist())
    holding = [one for one in known if name in one][:3]
    place = bisect_left(known, name)
    around = known[max(place - NEIGHBOURS, 0) : place + NEIGHBOURS]
    close = holding or difflib.get_close_matches(name, around, n=3) or known[:3]
    return f"the nearest are {', '.join(map(shown.plain, close))}."
