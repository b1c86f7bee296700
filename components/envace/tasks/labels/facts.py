"""Facts in a reply: the values of calls and results that it mentions, in any form."""

from collections.abc import Iterable

from pydantic import JsonValue

from envace.tasks.task import says

MAX_TEXT = 40
"""Characters of a text that counts as a value; anything longer is prose."""
MAX_LEAVES = 5_000
"""Values that are looked for."""


def mentioned(values: Iterable[JsonValue], reply: str, user: str) -> list[tuple[str, ...]]:
    """The short scalars inside `values` that `reply` mentions, each as the forms it may take there.

    Those that the user has not said come first.
    """
    leaves: list[str | int | float] = []
    for value in values:
        _collect(value, leaves)
    folded = reply.casefold()
    telling = (forms for forms in map(_forms, dict.fromkeys(leaves)) if _tells(forms[0]))
    found = [forms for forms in telling if _in(reply, folded, forms)]
    return sorted(found, key=lambda forms: _in(user, user.casefold(), forms))


def _collect(value: JsonValue, leaves: list[str | int | float]) -> None:
    """Appends the scalars inside a JSON value, in order, up to `MAX_LEAVES` in all."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _collect(inner, leaves)
    elif len(leaves) < MAX_LEAVES and isinstance(value, str | int | float):
        leaves += [] if isinstance(value, bool) else [value]


def _in(text: str, folded: str, forms: tuple[str, ...]) -> bool:
    """Does `text` say one of the forms? `folded`, the same without letter case, is the fast way."""
    return any(form.casefold() in folded and says(text, form) for form in forms)


def _forms(value: str | int | float) -> tuple[str, ...]:
    """1234.5 may be said as 1,234.50; `says` finds 40 in 40.00 without help."""
    if isinstance(value, str):
        return (value,)
    forms = [str(value), f"{value:,}"]
    if isinstance(value, float):
        forms += [f"{value:,.2f}", f"{value:.2f}"] if round(value, 2) else []
        forms += [f"{value:,.0f}", f"{value:.0f}"] if value.is_integer() else []
    return tuple(dict.fromkeys(forms))


def _tells(text: str) -> bool:
    """Is it an id, date or number, or one longer word such as a status?"""
    if not 1 < len(text) <= MAX_TEXT or len(text.split()) > 2:
        return False
    return any(map(str.isdigit, text)) or (len(text) > 3 and text.isalpha() and text.islower())
