"""The evaluation as one HTML file that needs nothing else: numbers first, then every trial.

What models, tools and users wrote is untrusted: all of it goes through `html.escape`, and the page
forbids itself scripts and requests. The filter is style alone.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template

from envace.benchmarks.report import Report, Trial
from envace.benchmarks.stats import wilson
from envace.episode import Message
from envace.errors import BenchmarkError
from envace.files import write_atomically

MARKS = {"pass": "pass", "fail": "fail", "infra": "not run"}
TICKS = (0, 25, 50, 75, 100)
FILTER = {"all": "All", "fail": "Failed", "pass": "Passed", "infra": "Not run"}


def write_page(reports: Sequence[Report], path: Path) -> None:
    """Replaces `path` by the page of `reports`: in their order, those of a suite together."""
    if not reports:
        raise BenchmarkError("Got no report, expected at least one; run the evaluate stage.")
    ordered = sorted(reports, key=lambda report: report.suite)
    suites = [list(group) for _, group in groupby(ordered, key=lambda report: report.suite)]
    names = ", ".join(group[0].suite for group in suites)
    template = Template(files("envace.benchmarks").joinpath("page.html").read_text("utf-8"))
    text = template.substitute(
        title=escape(names),
        summary=escape(_summary(reports)),
        body="\n".join([*map(_numbers, suites), _trials(ordered)]),
    )
    # A lone surrogate has no encoding: it is shown as a question mark.
    write_atomically(path, text.encode(errors="replace"))


def _summary(reports: Sequence[Report]) -> str:
    trials = sum(len(report.trials) for report in reports)
    short = sum(not report.complete for report in reports)
    warning = f" {short} of them incomplete." if short else " All complete."
    return f"{len(reports)} reports, {trials:,} trials.{warning} Intervals are Wilson’s at 95 %."


def _numbers(reports: Sequence[Report]) -> str:
    return (
        f"<h2>{escape(reports[0].suite)}</h2>\n{_chart(reports)}\n"
        f"<h3>Results</h3>\n{_headline(reports)}\n<h3>Success by slice</h3>\n{_slices(reports)}"
    )


def _chart(reports: Sequence[Report]) -> str:
    """One bar a report, with its interval."""
    rows = "\n".join(_bar(report) for report in reports)
    axis = "".join(f'<span style="--at: {tick}%">{tick} %</span>' for tick in TICKS)
    return f'<div class="chart">{rows}<div><div class="bar axis">{axis}</div></div></div>'


def _bar(report: Report) -> str:
    low, high = (100 * bound for bound in _interval(report))
    label = f"{_name(report)}: {_percent(report.success)}, {_range(report)}"
    grid = "".join(f'<line x1="{x}" x2="{x}" y1="0" y2="20"/>' for x in TICKS)
    caps = "".join(
        f'<line class="interval" x1="{x:.2f}" x2="{x:.2f}" y1="7" y2="13"/>' for x in (low, high)
    )
    return (
        f"<div><span>{escape(_name(report))}</span>"
        f'<div class="bar"><svg viewBox="0 0 100 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{grid}'
        f'<rect x="0" y="4" width="{100 * report.success:.2f}" height="12"/>'
        f'<line class="interval" x1="{low:.2f}" x2="{high:.2f}" y1="10" y2="10"/>{caps}'
        f"</svg></div><b>{_percent(report.success)}</b></div>"
    )


def _headline(reports: Sequence[Report]) -> str:
    heads = "Success|95 % interval|Passed|Scored / expected|Tokens / trial|Seconds / trial"
    cells = "".join(f'<th class="number">{head}</th>' for head in heads.split("|"))
    rows = "\n".join(_headline_row(report) for report in reports)
    return _table(f"<th>Policy</th><th>Mode</th>{cells}<th>Weights</th>", rows)


def _headline_row(report: Report) -> str:
    n = len(report.scored)
    scored = f"{n} / {report.n_expected}"
    if not report.complete:
        scored = f'<span class="short">{scored} incomplete</span>'
    tokens = sum(trial.tokens for trial in report.scored) / max(n, 1)
    seconds = sum(trial.seconds for trial in report.scored) / max(n, 1)
    numbers = (_range(report), str(_passed(report.scored)), scored, f"{tokens:,.0f}")
    cells = "".join(f'<td class="number">{cell}</td>' for cell in (*numbers, f"{seconds:,.2f}"))
    return (
        f"<tr><th>{escape(report.policy)}</th><td>{escape(report.mode)}</td>"
        f'<td class="number strong">{_percent(report.success)}</td>{cells}'
        f"<td><code>{escape(report.digest[:12])}</code></td></tr>"
    )


def _slices(reports: Sequence[Report]) -> str:
    names = sorted({trial.slice for report in reports for trial in report.scored})
    heads = "".join(f'<th class="number">{escape(_name(report))}</th>' for report in reports)
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th>{''.join(_slice(report, name) for report in reports)}</tr>"
        for name in names
    )
    return _table(f"<th>Slice</th>{heads}", rows)


def _slice(report: Report, name: str) -> str:
    trials = [trial for trial in report.scored if trial.slice == name]
    if not trials:
        return '<td class="number quiet">–</td>'
    share = _passed(trials) / len(trials)
    return (
        f'<td class="number heat" style="--share: {share:.3f}">{_percent(share)} '
        f'<span class="quiet">{_passed(trials)} / {len(trials)}</span></td>'
    )


def _trials(reports: Sequence[Report]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for trial in (trial for report in reports for trial in report.trials):
        counts[trial.status] += 1
    counts["all"] = sum(counts.values())
    buttons = "".join(
        f'<input type="radio" name="only" id="only-{key}"{" checked" if key == "all" else ""}>'
        f'<label for="only-{key}">{label} {counts[key]:,}</label>'
        for key, label in FILTER.items()
    )
    groups = "\n".join(
        f'<details class="report"{"" if index else " open"}><summary>{escape(report.suite)} · '
        f"{escape(_name(report))}</summary>\n{''.join(map(_trial, report.trials))}</details>"
        for index, report in enumerate(reports)
    )
    return f'<h2>Every trial</h2>\n<div class="filter">{buttons}</div>\n{groups}'


def _trial(trial: Trial) -> str:
    talk = "".join(part for message in trial.messages for part in _message(message))
    memory = (
        '<details class="memory"><summary>Private memory from rehearsal</summary>'
        f'<pre class="text">{escape(trial.memory)}</pre></details>'
    )
    return (
        f'<details class="trial {trial.status}"><summary>'
        f'<span class="mark">{MARKS[trial.status]}</span><span>{escape(trial.item)} '
        f'<span class="quiet">{escape(trial.slice)}</span></span><span>{escape(trial.why)}</span>'
        f'<span class="quiet">{trial.tokens:,} tokens, {trial.seconds:,.2f} s</span></summary>'
        f'<div class="talk">{memory if trial.memory else ""}{talk}</div></details>\n'
    )


def _message(message: Message) -> Iterable[str]:
    """A message as rows of who and what: its text, then each of its calls."""
    if message.content or not message.calls:
        who = f"{message.name} answers" if message.role == "tool" else message.role
        yield _said(message.role, who, message.content)
    for call in message.calls:
        arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
        yield _said("call", "calls", f"{call.name} {arguments}")


def _said(kind: str, who: str, text: str) -> str:
    tag = "pre" if kind in ("call", "tool") else "div"
    return (
        f'<div class="said {kind}"><span class="who">{escape(who)}</span>'
        f'<{tag} class="text">{escape(text)}</{tag}></div>'
    )


def _table(head: str, rows: str) -> str:
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    return f'<div class="table">{table}</div>'


def _name(report: Report) -> str:
    return f"{report.policy}, {report.mode}"


def _passed(trials: Sequence[Trial]) -> int:
    return sum(trial.status == "pass" for trial in trials)


def _interval(report: Report) -> tuple[float, float]:
    return wilson(_passed(report.scored), len(report.scored))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _range(report: Report) -> str:
    low, high = _interval(report)
    return f"{100 * low:.1f} – {100 * high:.1f} %"
