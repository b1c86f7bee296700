"""What looks like personal data is counted, and what only resembles it is not."""

import time
from collections.abc import Callable

import pytest

from envace.tasks.checks.pii import count
from envace.tasks.task import Task

Make = Callable[..., Task]
# Luhn: from the right every second digit doubled, 8 + 7 * 2 = 22; the other eight are 1: 30 in all.
CARD = "4111 1111 1111 1111"


def counts(make: Make, text: str) -> dict[str, int]:
    return dict(count(make(reply=text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to ann.lee@mail.example.com or bo@x.org.", {"email": 2}),
        ("Call +49 30 1234567 or (555) 123-4567 or 555-123-4567.", {"phone": 3}),
        (f"Pay with {CARD} or 4111111111111111 or 3782 822463 10005.", {"card": 3}),
        ("To DE89 3704 0044 0532 0130 00 please", {"iban": 1}),
        ("To DE89370400440532013000 and BE68 5390 0754 7034 PAID", {"iban": 2}),
        ("From 192.168.0.1 to 255.255.255.255", {"ip_address": 2}),
        ("My number is 123-45-6789.", {"us_ssn": 1}),
        ("sk-" + "a1B2" * 5 + " and AKIA" + "A1B2" * 4, {"secret": 2}),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", {"secret": 1}),
    ],
)
def test_each_kind_is_counted(make_task: Make, text: str, expected: dict[str, int]):
    assert counts(make_task, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "order 4111111111111112",  # its Luhn sum is 31
        "ISBN 978-0-306-40615-7 or 9780306406157",
        "2026-03-02 2026-03-04, 20260302 20260304",
        "order #W2378156, item 9382047712, at 1718000000000 ms",
        "DE88 3704 0044 0532 0130 00",  # its remainder is not 1
        "version 1.2.3, 256.1.1.1, 1.2.3.",
        "000-12-3456, 666-12-3456, 900-12-3456, 123-00-4567, 123-45-0000",
        "task-" + "a1B2" * 5 + ", sk-short, -----BEGIN PUBLIC KEY-----",
        "@ann, a@b, ann@localhost",
    ],
)
def test_what_only_resembles_personal_data_is_not_counted(make_task: Make, text: str):
    assert counts(make_task, text) == {}


def test_arguments_and_results_are_looked_at_too(make_task: Make):
    call = {
        "name": "add_event",
        "arguments": {"to": [{"mail": "a@x.org"}], "card": 4111111111111111},
    }
    task = make_task(call=call, result='{"mail": "b@x.org"}')
    assert count(task) == {"card": 1, "email": 2}


def test_hostile_text_is_counted_at_once(make_task: Make):
    start = time.perf_counter()
    for text in ("a." * 30_000 + "@", "1 " * 30_000, "\ud800\x00" * 20_000, "A1" * 30_000):
        assert counts(make_task, text) == {}
    assert time.perf_counter() - start < 2
