"""The page of a curation: every number of the report, and nothing that a data set could run."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from envace.tasks.curation.report import CurationReport
from envace.tasks.reports.page import write_page


@pytest.fixture
def page(tmp_path: Path, report: CurationReport) -> str:
    write_page(report, tmp_path / "reports/curation.html")
    return (tmp_path / "reports/curation.html").read_text("utf-8")


def text(page: str) -> str:
    """What a reader sees."""
    body = page.partition("<body>")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_it_says_where_the_records_went(page: str) -> None:
    assert "10 records were read: 6 train, 1 held out, 3 dropped, each for a reason." in text(page)
    assert "logs 9 5 1 3" in text(page)
    assert 'aria-label="logs: 5 train, 1 held out, 3 dropped"' in page


def test_a_bar_is_as_wide_as_its_share(page: str) -> None:
    assert '<rect class="train" x="0.000" width="55.556"' in page  # 5 of 9
    assert '<rect class="heldout" x="55.556" width="11.111"' in page
    assert '<rect class="dropped" x="66.667" width="33.333"' in page


def test_a_reason_is_explained_counted_and_shown(page: str) -> None:
    said = text(page)
    assert "unknown_tool A call goes to a tool that is not offered. logs 2; the first 1" in said
    assert "2 20.0 %" in said
    assert "logs 7: duplicate_of: 3" in said


def test_leakage_slices_lengths_and_personal_data_are_there(page: str) -> None:
    said = text(page)
    assert "bfcl (4,441), on prompts, identifiers and final calls: 0 were dropped." in said
    assert "1 records equal an earlier one, 0 nearly do." in said
    assert "12 definitions train and 3 are held out. From 4 tasks a candidate" in said
    assert "shop 5 1" in said
    assert "Tool calls train 1 2 3 9" in said
    assert "email 2 0" in said


def test_text_of_a_data_set_stays_text(page: str) -> None:
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=", page)


def test_it_is_well_formed(page: str) -> None:
    body = page[page.index("<body>") : page.index("</html>")].replace("<br>", "<br/>")
    ElementTree.fromstring(body)


def test_half_a_surrogate_pair_is_shown_as_a_question_mark(
    tmp_path: Path, report: CurationReport
) -> None:
    odd = report.train.model_copy(update={"domains": {"sh\udce9p": 6}})
    write_page(report.model_copy(update={"train": odd}), tmp_path / "page.html")
    assert "sh?p" in (tmp_path / "page.html").read_text("utf-8")


def test_an_empty_curation_has_a_page(tmp_path: Path, report: CurationReport) -> None:
    names = ("domains", "tiers", "families", "languages", "spreads", "pii")
    side = report.train.model_copy(update={name: {} for name in names})
    nothing = {"train": side, "heldout": side, "reasons": (), "sources": {}, "benchmarks": {}}
    write_page(report.model_copy(update=nothing), tmp_path / "page.html")
    said = text((tmp_path / "page.html").read_text("utf-8"))
    assert "None was." in said
    assert "No benchmark was compared with" in said
    assert "The scan found none" in said
