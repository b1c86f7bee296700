"""What one stage writes down for the next, as JSON under reports/."""

from collections.abc import Mapping

from envace.episode import Record


class Registered(Record):
    """What `register` made: reports/version.json."""

    name: str
    """Name of the registered model."""
    version: int
    digest: str
    """Content hash of its weights."""
    created: int
    """When it was registered, milliseconds since 1970; another one in another registry."""
    lineage: Mapping[str, str]
    """The tags of the version, as the registry has them."""


class Score(Record):
    """How a policy did on a suite in a mode: a cell of reports/scores.json."""

    success: float
    """Share of the scored trials that passed."""
    score: float
    """Mean score of the scored trials."""
    scored: int
    expected: int
    """Trials there should be."""


Scores = dict[str, dict[str, Score]]
"""Suite → policy and mode → how it did."""
