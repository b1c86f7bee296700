"""What a step's groups say about training, role by role, as numbers to plot and to worry about.

A mean or a share of nothing is left out: what is missing is never 0.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import fmean, pstdev

from envace.episode import Fault, Group, Role, Turn
from envace.grpo.batch import Estimator, Sample, samples


def describe(groups: Sequence[Group], estimate: Estimator) -> dict[str, float]:
    """Metrics of the groups of one step; names are `area/quantity`."""
    rewards = [reward for group in groups for reward in group.rewards if reward is not None]
    episodes = [episode for group in groups for episode in group.episodes]
    metrics = {
        "reward/missing": float(len(episodes) - len(rewards)),
        **_mean("reward/mean", rewards),
        **_mean("episode/faulty_share", (episode.fault is not None for episode in episodes)),
    }
    turns = [turn for episode in episodes for turn in episode.turns]
    per_group = [samples([group], estimate) for group in groups]
    for role in Role:
        metrics |= _of_role(role, [turn for turn in turns if turn.role is role], per_group)
    return metrics


def _of_role(
    role: Role, turns: Sequence[Turn], per_group: Sequence[Sequence[Sample]]
) -> dict[str, float]:
    own = [[sample for sample in group if sample.role is role] for group in per_group]
    dead = [not any(any(sample.advantages) for sample in group) for group in own]
    faults = Counter(turn.fault for turn in turns if turn.fault)
    sampled = chain.from_iterable(sample.sampled for group in own for sample in group)
    return {
        f"{role}/outputs": float(len(turns)),
        **_mean(f"{role}/well_formed", (turn.fault is None for turn in turns)),
        **_mean(f"{role}/truncated", (turn.fault is Fault.TRUNCATED for turn in turns)),
        **{f"{role}/fault/{fault}": float(count) for fault, count in sorted(faults.items())},
        **_lengths(role, sorted(turn.tokens for turn in turns)),
        **_mean(f"{role}/dead_groups", dead),
        **_mean(f"{role}/advantage_spread", (_spread(group) for group in own if group)),
        # The policy's own log-probabilities estimate its entropy: H = −E log π, nats a token.
        **_mean(f"{role}/entropy", (-value for value in sampled)),
    }


def _lengths(role: Role, tokens: Sequence[int]) -> dict[str, float]:
    """Mean and quantiles of sorted lengths, each an output's."""
    places = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "max": 1.0}
    last = len(tokens) - 1
    if not tokens:
        return {}
    found = {f"{role}/tokens_{n}": float(tokens[round(q * last)]) for n, q in places.items()}
    return {**_mean(f"{role}/tokens", tokens), **found}


def _spread(group: Sequence[Sample]) -> float:
    """Standard deviation of a group's advantages over its trained tokens."""
    return pstdev(chain.from_iterable(sample.advantages for sample in group))


def _mean(name: str, values: Iterable[float]) -> dict[str, float]:
    found = tuple(values)
    return {name: fmean(found)} if found else {}
