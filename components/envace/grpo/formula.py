"""The effective objective as a formula: what the settings make of `loss`, with numbers put in.

A dial that does not act is not in the formula, so what is printed is what is maximised. It stands
apart from the objective so that it can be read without torch.
"""

from collections.abc import Iterator

from envace.grpo.settings import Settings


def formula(settings: Settings) -> tuple[str, ...]:
    """The objective, one definition a line, from the outside in."""
    return tuple(_lines(settings))


def _lines(settings: Settings) -> Iterator[str]:
    yield f"J = {_mean(settings).format(_term(settings))}"
    clip, gain = settings.clip, _gain(settings)
    yield f"S = min(r·{gain}, clip(r, {1 - clip.low:g}, {1 + clip.high:g})·{gain})"
    if clip.dual is not None:
        yield f"S ≥ {clip.dual:g}·{gain} where {gain} < 0"
    if settings.correction:
        old, limit = "π_old(t) / π_sampled(t)", settings.correction.limit
        yield "r = π(t) / π_old(t), π_old the policy before the batch"
        kind = settings.correction.kind
        bounds = f"{1 / limit:g} ≤ {old} ≤ {limit:g}, else 0"
        yield f"c = min({old}, {limit:g})" if kind == "truncated" else f"c = {old} if {bounds}"
    else:
        yield "r = π(t) / π_sampled(t)"
    yield from _divergence(settings)


def _mean(settings: Settings) -> str:
    if settings.normalisation == "token":
        return "1/T · Σ_t {}, T the trained tokens of the batch"
    length = "|s|" if settings.normalisation == "sequence" else f"{settings.fixed_length}"
    return f"1/n · Σ_s 1/{length} · Σ_t {{}}, n the sequences s of the batch"


def _term(settings: Settings) -> str:
    term = "c(t)·S(t)" if settings.correction else "S(t)"
    if settings.kl and settings.kl.estimator != "k1":
        return f"({term} − {settings.kl.weight:g}·kl(t))"
    return term


def _gain(settings: Settings) -> str:
    return "A'" if settings.kl and settings.kl.estimator == "k1" else "A"


def _divergence(settings: Settings) -> Iterator[str]:
    if settings.kl is None:
        return
    forms = {"k1": "d", "k2": "d² / 2", "k3": "exp(−d) − 1 + d"}
    if settings.kl.estimator == "k1":
        yield f"A' = A − {settings.kl.weight:g}·d"
    else:
        yield f"kl = {forms[settings.kl.estimator]}"
    yield "d = log π(t) − log π_first(t)"
