"""A limit that is broken for long enough stops the run; nothing else does."""

import pytest

from envace.errors import TrainingError
from envace.training.abort import Limits, Watch, breaches

TIGHT = Limits(
    min_well_formed=0.5,
    min_entropy=0.1,
    max_dead_groups=0.9,
    max_mismatch_kl=0.2,
    max_ratio_p99=5.0,
    patience=2,
)
FINE = {
    "act/well_formed": 0.5, "rehearse/well_formed": 1.0, "act/entropy": 0.1,
    "rehearse/entropy": 2.0, "act/dead_groups": 0.9, "update/mismatch_kl": 0.2,
    "update/ratio_p99": 5.0,
}  # fmt: skip
BAD = {
    "act/well_formed": 0.49, "rehearse/well_formed": 0.0, "act/entropy": 0.09,
    "rehearse/entropy": 0.0, "act/dead_groups": 1.0, "update/mismatch_kl": 0.21,
    "update/ratio_p99": 5.1,
}  # fmt: skip


def test_a_value_at_its_limit_is_fine() -> None:
    assert breaches(FINE, TIGHT) == []


@pytest.mark.parametrize("metric", BAD)
def test_each_limit_stops_the_run_after_its_patience(metric: str) -> None:
    watch, row = Watch(TIGHT), {**FINE, metric: BAD[metric]}
    watch.see(1, row)
    with pytest.raises(TrainingError, match=rf"step 2: {metric} is .*expected at .* 2 steps in a"):
        watch.see(2, row)


def test_a_good_step_in_between_starts_the_count_anew() -> None:
    watch, row = Watch(TIGHT), {**FINE, **BAD}
    for step in range(1, 9, 2):
        watch.see(step, row)
        watch.see(step + 1, FINE)


def test_what_was_not_measured_breaks_nothing() -> None:
    watch = Watch(TIGHT)
    for step in range(9):
        watch.see(step, {})


def test_a_limit_that_is_off_is_never_broken() -> None:
    off = Limits(max_mismatch_kl=None)
    assert breaches(BAD, off) == []
