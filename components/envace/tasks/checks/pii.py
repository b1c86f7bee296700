"""Personal data in a conversation: how much of which kind, never what.

Patterns run on RE2, whose time is linear in the text. Counts are of matches that look right (a card
by its first digits and Luhn's sum, an IBAN by its remainder), so a number that is merely long is
none.
"""

from collections.abc import Callable, Mapping

import re2

from envace.tasks.task import Task

_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_CARD = r"(?:2[2-7]|[3-6]\d)"
PATTERNS = {
    "email": r"\b[\w.%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b",
    "phone": (
        r"\+\d{1,3}[ .-]?(?:\(?\d{1,4}\)?[ .-]?){2,4}\d{2,4}\b|"
        r"(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b"
    ),
    "card": (
        rf"\b{_CARD}\d{{11,17}}\b|\b{_CARD}\d\d(?:[ -]\d{{4}}){{3}}(?:[ -]\d{{3}})?\b|"
        r"\b3\d{3}[ -]\d{6}[ -]\d{4,5}\b"
    ),
    "iban": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
    "ip_address": rf"\b(?:{_BYTE}\.){{3}}{_BYTE}\b",
    "us_ssn": r"\b\d{3}-\d{2}-\d{4}\b",
    "secret": (
        r"\bsk-[A-Za-z0-9_-]{20,}|\bA[KS]IA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|"
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bxox[abpr]-[A-Za-z0-9-]{10,}"
    ),
}
_COMPILED = {kind: re2.compile(pattern.encode()) for kind, pattern in PATTERNS.items()}


def count(task: Task) -> Mapping[str, int]:
    """Matches by kind, over messages and arguments; kinds without any are left out.

    The task is one that the rules let through.
    """
    text = _text(task)
    found = {
        kind: sum(HOLDS.get(kind, bool)(text[slice(*m.span())].decode()) for m in p.finditer(text))
        for kind, p in sorted(_COMPILED.items())
    }
    return {kind: number for kind, number in found.items() if number}


def _text(task: Task) -> bytes:
    """All that is said and called, as one text: many short searches cost more than a long one."""
    said = [message.content for message in task.conversation]
    calls = (call for message in task.conversation for call in message.calls)
    written = [call.model_dump_json() for call in calls]
    return "\n".join(said + written).encode(errors="replace")


def _luhn(text: str) -> bool:
    """Luhn's sum (ISO/IEC 7812-1): every second digit from the right is doubled."""
    digits = [int(character) for character in text if character.isdigit()][::-1]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _iban(text: str) -> bool:
    """ISO 13616: country and check digits moved to the end, letters as numbers, remainder 1.

    A match may have taken in words that follow the number.
    """
    words = text.split(" ")
    return any(_remainder("".join(words[:n])) == 1 for n in range(1, len(words) + 1))


def _remainder(plain: str) -> int:
    if not 15 <= len(plain) <= 34:
        return 0
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97


def _ssn(text: str) -> bool:
    """Areas 000, 666 and 9xx, group 00 and serial 0000 are never given out."""
    area, group, serial = text.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


HOLDS: Mapping[str, Callable[[str], bool]] = {"card": _luhn, "iban": _iban, "us_ssn": _ssn}
"""What a match must also satisfy."""
