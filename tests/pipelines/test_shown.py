"""Tasks on a terminal: all that a reader needs, and nothing that steers the terminal."""

import pytest
from rich.console import Console, RenderableType

from envace.tasks.curation.report import CurationReport, Reason, Side, SourceCount
from envace.tasks.task import Task
from pipelines import shown

TASK = {
    "id": "calendar-0",
    "source": "logs",
    "domain": "calendar",
    "tier": "one_call",
    "system": "You keep a calendar.",
    "tools": [
        {"name": "add", "parameters": {"type": "object", "properties": {"t": {"type": "string"}}}}
    ],
    "conversation": [
        {"role": "user", "content": "Lunch, [bold]please[/bold]."},
        {"role": "assistant", "calls": [{"name": "add", "arguments": {"t": "Lunch"}}]},
        {"role": "tool", "name": "add", "content": '{"id": "E1"}'},
        {"role": "assistant", "content": "Done \x1b[31mE1\x1b[0m.\x07"},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "You are welcome."},
    ],
    "checklists": [
        [
            {
                "id": "made",
                "question": "Was it added?",
                "focus_on": "assistant.tool_calls",
                "pass_condition": "add is called",
                "weight": 1,
                "required_for_next_turn": True,
            }
        ],
        [],
    ],
}
EMPTY = Side(
    tasks=0,
    sources={},
    domains={},
    tiers={},
    families={},
    languages={},
    tools=0,
    spreads={},
    pii={},
)


def printed(part: RenderableType) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as caught:
        console.print(part)
    return caught.get()


def test_a_task_is_a_conversation() -> None:
    lines = [
        " ".join(line.split())
        for line in printed(shown.task(Task.model_validate(TASK), {"side": "train"})).splitlines()
        if line.strip()
    ]
    assert lines == [
        "id calendar-0",
        "side train",
        "system",
        "You keep a calendar.",
        "tools (1)",
        "add(t?: string)",
        "turn 1",
        "user Lunch, [bold]please[/bold].",
        'calls add {"t": "Lunch"}',
        'add answers {"id": "E1"}',
        "assistant Done E1.",
        "weight item passes when",
        "1.00 Was it added? (needed for the next turn) add is called",
        "turn 2",
        "user Thanks.",
        "assistant You are welcome.",
        "weight item passes when",
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\x1b[2Jb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1bPq#0\x1b\\b", "ab"),
        ("a\x1b", "a"),
        ("a\x9b31mb", "a31mb"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("a\u202egpj.exe\u2066", "agpj.exe"),
        ("a\ud800b", "a?b"),
        ("[red]a[/red]", "[red]a[/red]"),
    ],
)
def test_what_steers_a_terminal_is_taken_out(text: str, left: str) -> None:
    assert shown.plain(text) == left


def test_the_outcome_names_sources_and_the_most_frequent_reasons() -> None:
    reasons = tuple(
        Reason(code=f"code_{n}", count=9 - n, sources={"logs": 9 - n}, samples=()) for n in range(7)
    )
    report = CurationReport(
        records=1234,
        train=EMPTY,
        heldout=EMPTY,
        rejected=0,
        reasons=(reasons[0].model_copy(update={"code": "unknown_tool"}), *reasons[1:]),
        sources={"[b]logs": SourceCount(records=1234, train=1000, heldout=34, rejected=200)},
        trimmed=0,
        benchmarks={},
    )
    text = printed(shown.outcome(report))
    assert "[b]logs  1,234  1,000        34       200" in text
    assert "9  unknown_tool  A call goes to a tool that is not offered." in text
    assert "code_4" in text
    assert "code_5" not in text
