"""The gate: may the candidate take the reference's place? A pure function of paired outcomes.

One idea: a pass must be shown. The two answered the same items, so only the items on which they
differ tell: b where only the candidate passed, c where only the reference did, of n items.

    difference   d = (b − c) / (n + 2)
    its error    s = √(b + c + 1 − (b − c)² / (n + 2)) / (n + 2)       (Agresti and Min 2005)
    interval     d ± z(1 − α/2) · s
    exact test   p = min(1, 2 · Σ_{k ≤ min(b, c)} C(b + c, k) / 2^(b + c))      (McNemar)

Half an item is added to each of the four counts, so that no finite evidence is certain. When the
interval is too wide to tell, the verdict is INCONCLUSIVE, which promotes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from pydantic import Field

from envace.config import Config

_POWER = 0.8
"""Chance with which the minimum detectable difference would be detected."""


class Rules(Config):
    """What a candidate must show."""

    min_items: int = Field(default=50, ge=1)
    """Fewest items that both sides must have been scored on."""
    max_infra_rate: float = Field(default=0.02, ge=0, le=1)
    """Largest share of items, on either side, that infrastructure kept from being scored."""
    min_success: float = Field(default=0.0, ge=0, le=1)
    """Smallest share of items that the candidate must pass."""
    margin: float = Field(default=0.05, gt=0, le=1)
    """How much smaller than the reference's its share of passed items may be, at most."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Chance of error: 1 − alpha is the level of the two-sided interval and of the test."""
    require_improvement: bool = False
    """Must the candidate be significantly better, rather than only not worse?"""


@dataclass(frozen=True)
class Outcome:
    """How one side did on one item."""

    item: str
    slice: str
    passed: bool | None
    """None: not scored, because infrastructure failed."""


class Verdict(StrEnum):
    """What a finding, or all of them, comes to."""

    PASS = "PASS"
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """One rule with its numbers."""

    name: str
    verdict: Verdict
    value: float
    limit: float | None
    """None: nothing is asked of the value."""
    sentence: str

    @property
    def passed(self) -> bool:
        """Does it let the candidate through?"""
        return self.verdict is Verdict.PASS


@dataclass(frozen=True)
class Slice:
    """How both sides did on the items of one slice."""

    name: str
    items: int
    candidate: int
    """Items that the candidate passed."""
    reference: int
    """Items that the reference passed."""


@dataclass(frozen=True)
class Paired:
    """Both sides on the n items that both were scored on."""

    n: int
    b: int
    """Items that only the candidate passed."""
    c: int
    """Items that only the reference passed."""
    both: int
    """Items that both passed."""

    @property
    def success(self) -> float:
        """Share of items that the candidate passed."""
        return (self.both + self.b) / self.n if self.n else 0.0

    @property
    def p(self) -> float:
        """Exact two-sided McNemar test: chance of so uneven a split when both are equal."""
        differ = self.b + self.c
        tail = sum(math.comb(differ, k) for k in range(min(self.b, self.c) + 1))
        return min(1.0, 2 * tail / 2**differ)

    @property
    def difference(self) -> float:
        """Candidate's share of passed items less the reference's, shrunk by half an item a cell."""
        return (self.b - self.c) / (self.n + 2)

    @property
    def error(self) -> float:
        """Standard error of the difference."""
        total = self.n + 2
        return math.sqrt(self.b + self.c + 1 - (self.b - self.c) ** 2 / total) / total


@dataclass(frozen=True)
class Decision:
    """The verdict and everything it rests on."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    paired: Paired
    interval: tuple[float, float]
    """Of the difference in the share of passed items."""
    detectable: float
    """Smallest true difference that these items would show with a chance of 80 %."""
    slices: tuple[Slice, ...]
    rules: Rules


def decide(candidate: Sequence[Outcome], reference: Sequence[Outcome], rules: Rules) -> Decision:
    """Compares paired outcomes: the candidate's with those of the champion.

    Before there is a champion, the reference is what the candidate was trained from (the warm
    start), not the untuned base: next to one that can do nothing, anything is "not worse".
    """
    paired = pair(candidate, reference)
    z = NormalDist().inv_cdf(1 - rules.alpha / 2)
    half = z * paired.error
    interval = (paired.difference - half, paired.difference + half)
    findings = (
        _same_items(candidate, reference),
        _infra("candidate", candidate, rules),
        _infra("reference", reference, rules),
        _enough(paired, rules),
        _floor(paired, rules),
        _not_worse(paired, interval, rules),
        _better(paired, rules),
    )
    return Decision(
        verdict=_worst(findings),
        findings=findings,
        paired=paired,
        interval=interval,
        detectable=(z + NormalDist().inv_cdf(_POWER)) * paired.error,
        slices=_slices(candidate, reference),
        rules=rules,
    )


def pair(candidate: Sequence[Outcome], reference: Sequence[Outcome]) -> Paired:
    """Counts the items that both sides were scored on."""
    found = [(ours, theirs) for _, ours, theirs in _scored(candidate, reference)]
    return Paired(
        n=len(found),
        b=found.count((True, False)),
        c=found.count((False, True)),
        both=found.count((True, True)),
    )


def _scored(
    candidate: Sequence[Outcome], reference: Sequence[Outcome]
) -> list[tuple[str, bool, bool]]:
    """Slice, candidate's and reference's outcome of each item that both were scored on."""
    theirs = {each.item: each.passed for each in reference}
    return [
        (each.slice, each.passed, other)
        for each in candidate
        if each.passed is not None and (other := theirs.get(each.item)) is not None
    ]


def _worst(findings: Sequence[Finding]) -> Verdict:
    """FAIL before INCONCLUSIVE before PASS."""
    found = {finding.verdict for finding in findings}
    return next(
        each for each in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS) if each in found
    )


def _same_items(candidate: Sequence[Outcome], reference: Sequence[Outcome]) -> Finding:
    ours, theirs = [each.item for each in candidate], [each.item for each in reference]
    alone = set(ours) ^ set(theirs)
    doubles = len(ours) + len(theirs) - len(set(ours)) - len(set(theirs))
    bad = len(alone) + doubles
    sentence = f"{len(alone)} items were answered by one side only, {doubles} stand twice"
    return Finding("same items", Verdict.FAIL if bad else Verdict.PASS, bad, 0, sentence + ".")


def _infra(side: str, outcomes: Sequence[Outcome], rules: Rules) -> Finding:
    lost = sum(each.passed is None for each in outcomes)
    rate = lost / len(outcomes) if outcomes else 1.0
    verdict = Verdict.PASS if rate <= rules.max_infra_rate else Verdict.INCONCLUSIVE
    sentence = f"{lost} of {len(outcomes)} items of the {side} were not scored."
    return Finding(f"{side} infra rate", verdict, rate, rules.max_infra_rate, sentence)


def _enough(paired: Paired, rules: Rules) -> Finding:
    verdict = Verdict.PASS if paired.n >= rules.min_items else Verdict.INCONCLUSIVE
    sentence = f"{paired.n} items were scored on both sides, {rules.min_items} are needed."
    return Finding("items", verdict, paired.n, rules.min_items, sentence)


def _floor(paired: Paired, rules: Rules) -> Finding:
    verdict = Verdict.PASS if paired.success >= rules.min_success else Verdict.FAIL
    sentence = f"The candidate passed {paired.both + paired.b} of {paired.n} items."
    return Finding("floor", verdict, paired.success, rules.min_success, sentence)


def _not_worse(paired: Paired, interval: tuple[float, float], rules: Rules) -> Finding:
    low, high = interval
    if low > -rules.margin:
        verdict, reading = Verdict.PASS, "not worse by more than the margin"
    elif high < 0:
        verdict, reading = Verdict.FAIL, "worse"
    else:
        verdict, reading = Verdict.INCONCLUSIVE, "too few items, or too mixed, to tell"
    sentence = (
        f"The difference in success is {paired.difference:+.3f}, in [{low:+.3f}, {high:+.3f}] "
        f"at level {1 - rules.alpha:g}; the margin is {rules.margin:g}: {reading}."
    )
    return Finding("not worse", verdict, low, -rules.margin, sentence)


def _better(paired: Paired, rules: Rules) -> Finding:
    significant = paired.p <= rules.alpha
    sentence = (
        f"{paired.b} items were passed by the candidate only, {paired.c} by the reference only "
        f"(exact McNemar p = {paired.p:.3g})."
    )
    if not rules.require_improvement:
        return Finding("better", Verdict.PASS, paired.p, None, sentence)
    if significant and paired.b > paired.c:
        verdict = Verdict.PASS
    else:
        verdict = Verdict.FAIL if significant else Verdict.INCONCLUSIVE
    return Finding("better", verdict, paired.p, rules.alpha, sentence)


def _slices(candidate: Sequence[Outcome], reference: Sequence[Outcome]) -> tuple[Slice, ...]:
    rows = _scored(candidate, reference)
    return tuple(
        Slice(
            name=name,
            items=sum(slice_ == name for slice_, _, _ in rows),
            candidate=sum(slice_ == name and ours for slice_, ours, _ in rows),
            reference=sum(slice_ == name and theirs for slice_, _, theirs in rows),
        )
        for name in sorted({slice_ for slice_, _, _ in rows})
    )
