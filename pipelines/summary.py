"""What a run came to, in one table: read from the reports and the registry, never from memory."""

from rich.console import Console
from rich.table import Table

from envace.registry.models import CHAMPION, Registry
from envace.registry.promote import Promotion
from pipelines import paths, stage
from pipelines.records import Registered, Scores
from pipelines.settings import Settings

PAGES = (
    paths.CURATION_PAGE,
    paths.CARD,
    paths.DATA_DOCS / "index.html",
    paths.EVALUATION_PAGE,
    paths.DECISION_PAGE,
)


def show(console: Console) -> None:
    """Prints the scores, the decision, the champion and where the pages are."""
    table = Table("suite", "policy", "success", "mean score", "scored", box=None, pad_edge=False)
    for suite, rows in stage.read(paths.SCORES, Scores, "evaluate").items():
        for name, row in rows.items():
            counted = f"{row.scored}/{row.expected}"
            table.add_row(suite, name, f"{row.success:.1%}", f"{row.score:.3f}", counted)
    console.print(table)
    record = stage.read(paths.VERSION, Registered, "register")
    decision = stage.read(paths.DECISION, Promotion, "promote")
    registry = Registry(Settings.load().tracking_uri, record.name)
    for line in (
        f"{record.name} version {record.version} ({record.digest[:12]}): {decision.verdict}",
        standing(decision, registry),
        *(f"  {page}" for page in PAGES),
    ):
        console.print(line, highlight=False, soft_wrap=True)


def standing(decision: Promotion, registry: Registry) -> str:
    """Which version the registry calls the champion, and whether the decision left it so."""
    left = decision.version if decision.promoted else decision.previous
    if not registry.written_since(paths.DECISION):
        return _named(left)
    champion = registry.alias(CHAMPION)
    found = champion.number if champion else None
    other = decision.promoted and champion and champion.digest != decision.digest
    if found == left and not other:
        return _named(found)
    return (
        f"{_named(found)}, but after the decision on version {decision.version} "
        f"{_named(left)}: somebody moved the alias, or this is another registry; "
        "'dvc repro -f -s register evaluate promote' decides anew."
    )


def _named(number: int | None) -> str:
    return f"{CHAMPION} is version {number}" if number else f"no version is {CHAMPION}"
