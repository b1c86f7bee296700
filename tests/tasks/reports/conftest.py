"""The account of a small curation, written by hand."""

import pytest

from envace.tasks.curation.report import CurationReport, Reason, Side, SourceCount, Spread

SPREAD = Spread(least=1, median=2, p90=3, most=9)
TRAIN = Side(
    tasks=6,
    sources={"logs": 5, "worlds": 1},
    domains={"shop": 5, "calendar": 1},
    tiers={"one_call": 6},
    families={"": 5, "worlds/calendar": 1},
    languages={"en": 6},
    tools=12,
    spreads={"turns": SPREAD, "calls": SPREAD, "tools": SPREAD, "tokens": SPREAD},
    pii={"email": 2},
)
HELDOUT = TRAIN.model_copy(
    update={"tasks": 1, "domains": {"shop": 1}, "tools": 3, "spreads": {"turns": SPREAD}, "pii": {}}
)
REASONS = (
    Reason(
        code="unknown_tool",
        count=2,
        sources={"logs": 2},
        samples=("logs a.jsonl:3: unknown_tool: '<script>alert(1)</script>' is not a tool",),
    ),
    Reason(code="duplicate_of", count=1, sources={"logs": 1}, samples=("logs 7: duplicate_of: 3",)),
)


@pytest.fixture
def report() -> CurationReport:
    """Ten records of two sources: six train, one is held out, three were dropped."""
    return CurationReport(
        records=10,
        train=TRAIN,
        heldout=HELDOUT,
        rejected=3,
        reasons=REASONS,
        sources={
            "logs": SourceCount(records=9, train=5, heldout=1, rejected=3),
            "worlds": SourceCount(records=1, train=1, heldout=0, rejected=0),
        },
        trimmed=4,
        benchmarks={"bfcl": 4441},
    )
