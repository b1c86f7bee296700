"""What a run came to, in one table: read from the reports and the registry, never from memory."""

from rich.console import Console
from rich.table import Table

from envace.registry.models import CHAMPION, Registry, Version
from envace.registry.promote import Promotion
from pipelines import paths, stage
from pipelines.records import Registered, Scores
from pipelines.settings import Settings


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
    champion = Registry(Settings.load().tracking_uri, record.name).alias(CHAMPION)
    for line in (
        f"{record.name} version {record.version} ({record.digest[:12]}): {decision.verdict}",
        standing(decision, champion),
        *(f"  {page}" for page in (paths.EVALUATION_PAGE, paths.DECISION_PAGE)),
        f"  {paths.DATA_DOCS / 'index.html'}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def standing(decision: Promotion, champion: Version | None) -> str:
    """Which version the registry calls the champion, and whether the decision left it so."""
    expected = decision.version if decision.promoted else decision.previous
    found = f"{CHAMPION} is version {champion.number}" if champion else f"there is no {CHAMPION}"
    same = expected == (champion and champion.number)
    if same and not (decision.promoted and champion and champion.digest != decision.digest):
        return found
    left = f"version {expected}" if expected else "none"
    return (
        f"{found}, but the decision on version {decision.version} left {left}: somebody moved the "
        "alias, or the registry is another one; 'dvc repro -f -s register evaluate promote' "
        "decides anew."
    )
