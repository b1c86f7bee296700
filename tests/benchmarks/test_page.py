import re
from html.parser import HTMLParser

import pytest

from envace.benchmarks.page import write_page
from envace.benchmarks.report import Report, Trial
from envace.episode import Call, Message
from envace.errors import BenchmarkError

HOSTILE = (
    "<script>alert(1)</script></details></pre></style>\"' onload='x' &amp; \u202e\ud800 $title"
)


class Tags(HTMLParser):
    """Counts opened tags and collects attribute names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.opened[tag] = self.opened.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}


def report(statuses: str, text: str = "hello", **changes: object) -> Report:
    messages = (
        Message(role="user", content=text),
        Message(role="assistant", calls=(Call(name=text, arguments={text: text}),)),
        Message(role="tool", name=text, content=text),
        Message(role="assistant", content=text),
    )
    names = {"p": "pass", "f": "fail", "i": "infra"}
    trials = [
        Trial(item=f"{text}-{number}", slice=text, status=names[letter], score=letter == "p",
              tokens=100 * (number + 1), seconds=number, why=text, messages=messages, memory=text)
        for number, letter in enumerate(statuses)
    ]  # fmt: skip
    fields = {"suite": "worlds", "policy": "grpo", "digest": "0123456789abcdef", "mode": "N=0"}
    return Report.model_validate(
        {**fields, "seed": 0, "n_expected": len(statuses), "trials": trials, **changes}
    )


def page_of(tmp_path, *reports: Report) -> str:
    write_page(reports, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def cells(page: str, row: str) -> list[str]:
    """The texts of the first table row that begins with `row`."""
    found = re.search(f"<tr><th>{row}</th>(.*?)</tr>", page)
    return [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", found[1])]


def test_the_headline_is_the_reports_numbers(tmp_path):
    # 2 of 4 pass; tokens (100 + 200 + 300 + 400) / 4, seconds (0 + 1 + 2 + 3) / 4
    assert cells(page_of(tmp_path, report("ppff")), "grpo") == [
        "N=0", "50.0 %", "15.0 – 85.0 %", "2", "4 / 4", "250", "1.50", "0123456789ab"
    ]  # fmt: skip


def test_a_trial_that_was_not_run_is_not_scored_and_is_shown(tmp_path):
    page = page_of(tmp_path, report("pfi"))
    assert cells(page, "grpo")[1] == "50.0 %"
    assert cells(page, "grpo")[4] == "2 / 3 incomplete"
    assert "1 of them incomplete" in page
    assert page.count('<details class="trial infra">') == 1


def test_slices_compare_the_reports(tmp_path):
    page = page_of(tmp_path, report("pf"), report("ff", policy="base"), report("p", "other"))
    assert cells(page, "hello") == ["50.0 % 1 / 2", "0.0 % 0 / 2", "–"]
    assert cells(page, "other") == ["–", "–", "100.0 % 1 / 1"]


def test_the_bar_and_its_interval_are_drawn_to_scale(tmp_path):
    page = page_of(tmp_path, report("ppff"))
    assert '<rect x="0" y="4" width="50.00"' in page
    assert 'x1="15.00" x2="85.00"' in page


def test_suites_stand_apart(tmp_path):
    page = page_of(tmp_path, report("p", suite="b"), report("p", suite="a"), report("f", suite="b"))
    assert re.findall("<h2>(.*?)</h2>", page) == ["a", "b", "Every trial"]


def test_every_trial_and_message_is_there(tmp_path):
    page = page_of(tmp_path, report("ppf"))
    assert page.count('<details class="trial ') == 3
    assert page.count('<div class="said ') == 12
    assert page.count('<details class="memory">') == 3


def test_hostile_text_stays_inert(tmp_path):
    names = ("suite", "policy", "mode", "digest")
    hostile = page_of(tmp_path, report("pfi", HOSTILE, **dict.fromkeys(names, HOSTILE)))
    tame = page_of(tmp_path, report("pfi"))
    assert Tags(hostile).opened == Tags(tame).opened
    assert Tags(hostile).attributes == Tags(tame).attributes
    assert "&lt;script&gt;alert(1)" in hostile


def test_the_page_needs_and_may_load_nothing(tmp_path):
    page = page_of(tmp_path, report("p"))
    assert "default-src 'none'" in page
    assert "script" not in Tags(page).opened
    assert not {"src", "href"} & Tags(page).attributes
    assert "url(" not in page
    assert "@import" not in page


def test_no_report_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(BenchmarkError, match="Got no report"):
        write_page([], tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
