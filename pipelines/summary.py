"""What a run came to, in one table: read from the reports, never from memory."""

import json

from rich.console import Console
from rich.table import Table

from pipelines import paths


def show(console: Console) -> None:
    """Prints the scores, the decision and where the pages are."""
    scores = json.loads(paths.SCORES.read_text())
    table = Table("suite", "policy", "success", "mean score", "scored", box=None, pad_edge=False)
    for suite, rows in scores.items():
        for name, row in rows.items():
            counted = f"{row['scored']}/{row['expected']}"
            table.add_row(suite, name, f"{row['success']:.1%}", f"{row['score']:.3f}", counted)
    console.print(table)
    version = json.loads(paths.VERSION.read_text())
    verdict = json.loads(paths.DECISION.read_text())["verdict"]
    console.print(
        f"{version['name']} version {version['version']} ({version['digest'][:12]}): {verdict}",
        highlight=False,
    )
    for page in (paths.EVALUATION_PAGE, paths.DECISION_PAGE, paths.DATA_DOCS / "index.html"):
        console.print(f"  {page}", highlight=False)
