"""The data card: what a reader must find, from a report and a source's header written by hand."""

import importlib
from typing import Any

import pytest

from envace.plugins import names
from envace.tasks.curation.report import CurationReport
from envace.tasks.reports.card import FIELDS, Card, header, write

DOCSTRING = """Source: logs of a shop.

Source: our own
servers.
License: internal.
Schema: messages, tools.
Size: 9 records.

More prose. Size: not this one.
"""
CURATE: dict[str, Any] = {
    "sources": [{"name": "logs"}],
    "rules": {
        "held_out": ["tau2_airline"],
        "held_out_share": {"logs": 0.1},
        "salt": "s",
        "near": 0.9,
        "skip": ["language"],
    },
}


@pytest.fixture
def card(report: CurationReport) -> Card:
    return Card(
        profile="laptop",
        report=report,
        sources=[header("logs", DOCSTRING)],
        curate=CURATE,
        expectations=21,
        data="abc",
        files={"train/part-00000.parquet": "f00d"},
    )


def test_a_header_is_read_from_a_docstring() -> None:
    found = header("logs", DOCSTRING)
    assert found.about == "logs of a shop."
    assert found.fields == {
        "Source": "our own servers.",
        "License": "internal.",
        "Schema": "messages, tools.",
        "Size": "9 records.",
    }


@pytest.mark.parametrize("name", names("envace.tasks.sources"))
def test_every_source_says_what_the_card_needs(name: str) -> None:
    module = importlib.import_module(f"envace.tasks.sources.{name}")
    assert set(header(name, module.__doc__ or "").fields) == set(FIELDS)


def test_it_says_where_the_data_come_from_and_what_was_done(card: Card) -> None:
    text = write(card)
    for part in (
        "# Data card: laptop\n",
        "| logs | our own servers. | internal. | messages, tools. | 9 records. | 9 | 5 | 1 |",
        "| shop | 5 | 1 |",
        "| Tool calls | train | 1 | 2 | 3 | 9 |",
        r"| unknown\_tool | 2 | A call goes to a tool that is not offered. |",
        "Rules that were skipped: language.",
        "1 records equal an earlier one; 0 nearly do",
        "Compared with the items of bfcl (4,441): 0 records were dropped.",
        "| email | 2 | 0 |",
        r"name: tau2\_airline. Share of the others held out by hash: logs: 0.1 (salt s)",
        "All 21 expectations hold",
        "| `train/part-00000.parquet` | `f00d` |",
        '"salt": "s"',
    ):
        assert part in text


def test_the_same_data_have_the_same_card(card: Card) -> None:
    assert write(card) == write(card)


def test_text_of_a_data_set_cannot_leave_its_cell(card: Card, report: CurationReport) -> None:
    hostile = {"a|b\n# <img src=x onerror=1> [x](y) `c`": 6}
    side = report.train.model_copy(update={"domains": hostile})
    text = write(Card(**{**vars(card), "report": report.model_copy(update={"train": side})}))
    escaped = r"| a\|b \# &lt;img src=x onerror=1&gt; \[x\](y) \`c\` | 6 | 0 |"
    assert escaped in text


def test_what_was_not_looked_for_is_said(card: Card, report: CurationReport) -> None:
    bare = report.model_copy(update={"benchmarks": {}})
    rules = {**CURATE["rules"], "near": 0, "held_out_share": 0.2, "held_out": []}
    text = write(Card(**{**vars(card), "report": bare, "curate": {**CURATE, "rules": rules}}))
    assert "No benchmark was compared with." in text
    assert "near-duplicates were not looked for." in text
    assert "by name: none. Share of the others held out by hash: each source: 0.2" in text
