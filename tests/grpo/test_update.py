"""One update: its gradient, what it leaves out, and when it refuses."""

import copy
import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.llama.modeling_llama import LlamaMLP

from envace.errors import TrainingError
from envace.grpo.batch import Sample
from envace.grpo.loss import clipped
from envace.grpo.settings import Clip, Correction, Kl, Settings
from envace.grpo.update import Learner, imitate, learner_of, update

Family = tuple[Sample, ...]
Logprobs = Callable[..., Tensor]

GOLDEN = Path(__file__).parents[1] / "golden" / "losses.txt"


def weights(model: PreTrainedModel) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def descend(model: PreTrainedModel, pack_tokens: int) -> Learner:
    """A learner whose step subtracts the unscaled gradient."""
    settings = Settings(max_norm=1e9, pack_tokens=pack_tokens)
    return Learner(model, torch.optim.SGD(model.parameters(), lr=1.0), settings)


@pytest.mark.parametrize("pack_tokens", [100, 8, 1])
def test_the_gradient_of_the_packs_is_that_of_the_unsplit_loss(
    double_model: PreTrainedModel, family: Family, alone: Logprobs, pack_tokens: int
) -> None:
    logprobs = torch.cat([alone(double_model, sample) for sample in family])
    sampled = torch.tensor([value for sample in family for value in sample.sampled])
    advantages = torch.tensor([value for sample in family for value in sample.advantages])
    loss = -clipped(torch.exp(logprobs - sampled), advantages, Clip()).sum() / 7
    slopes = torch.autograd.grad(loss, list(double_model.parameters()))
    before = weights(double_model)
    metrics = update(descend(double_model, pack_tokens), family)
    gradient = torch.cat([slope.flatten() for slope in slopes])
    torch.testing.assert_close(before - weights(double_model), gradient, atol=1e-12, rtol=1e-9)
    assert metrics["update/loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert metrics["update/grad_norm"] == pytest.approx(gradient.norm().item(), rel=1e-6)


def test_the_gradient_is_scaled_down_to_its_limit(
    double_model: PreTrainedModel, family: Family
) -> None:
    learner = descend(double_model, 100)
    learner = dataclasses.replace(learner, settings=Settings(max_norm=0.01))
    before = weights(double_model)
    update(learner, family)
    assert (before - weights(double_model)).norm().item() == pytest.approx(0.01, rel=1e-3)


def test_a_sequence_without_advantage_is_not_computed_but_counts_in_the_mean(
    double_model: PreTrainedModel, family: Family
) -> None:
    idle = dataclasses.replace(family[0], advantages=(0.0, 0.0))
    alone = update(descend(double_model, 100), [family[3]])
    with_idle = update(descend(double_model, 100), [family[3], idle])
    assert (alone["update/computed_tokens"], alone["update/trained_tokens"]) == (4, 1)
    assert (with_idle["update/computed_tokens"], with_idle["update/trained_tokens"]) == (4, 1)


def test_the_mean_is_over_all_sampled_tokens_of_the_batch(
    double_model: PreTrainedModel, family: Family
) -> None:
    learner = Learner(double_model, torch.optim.SGD(double_model.parameters(), lr=0.0), Settings())
    idle = dataclasses.replace(family[0], advantages=(0.0, 0.0))
    once, thrice = update(learner, [family[3]]), update(learner, [family[3], idle])
    assert thrice["update/loss"] == pytest.approx(once["update/loss"] / 3)


def test_a_batch_without_advantages_changes_nothing(
    double_model: PreTrainedModel, family: Family
) -> None:
    idle = [dataclasses.replace(each, advantages=(0.0,) * len(each.trained)) for each in family]
    before = weights(double_model)
    metrics = update(learner_of(double_model, 1.0, Settings()), idle)
    assert torch.equal(before, weights(double_model))
    assert metrics["update/computed_tokens"] == metrics["update/grad_norm"] == 0
    assert update(learner_of(double_model, 1.0, Settings()), [])["update/loss"] == 0


def test_metrics_compare_the_model_with_the_policy_that_sampled(
    double_model: PreTrainedModel, family: Family, alone: Logprobs
) -> None:
    with torch.no_grad():
        now = alone(double_model, family[0]).tolist()
    moved = dataclasses.replace(family[0], sampled=(now[0], now[1] - math.log(1.5)))
    metrics = update(descend(double_model, 100), [moved])
    # Ratios 1 and 1.5: one of two is clipped; the estimate of KL is (1.5 − 1 − ln 1.5) / 2.
    assert metrics["update/clip_fraction"] == 0.5
    assert metrics["update/mismatch_kl"] == pytest.approx((0.5 - math.log(1.5)) / 2, rel=1e-5)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_loss_that_is_not_finite_stops_the_run_and_leaves_the_weights(
    double_model: PreTrainedModel, family: Family, bad: float
) -> None:
    broken = dataclasses.replace(family[3], advantages=(bad,))
    before = weights(double_model)
    with pytest.raises(TrainingError, match=r"the loss is .*; expected a finite number"):
        update(descend(double_model, 1), [*family[:3], broken])
    assert torch.equal(before, weights(double_model))
    assert all(parameter.grad is None for parameter in double_model.parameters())


def test_imitation_makes_the_demonstrated_tokens_likelier(
    double_model: PreTrainedModel, family: Family
) -> None:
    learner = learner_of(double_model, 1e-3, Settings())
    first, second = imitate(learner, family), imitate(learner, family)
    assert (first["warmstart/trained_tokens"], first["warmstart/computed_tokens"]) == (7, 12)
    assert second["warmstart/loss"] < first["warmstart/loss"]


def test_three_updates_reproduce_the_golden_losses(
    double_model: PreTrainedModel, family: Family
) -> None:
    learner = learner_of(double_model, 1e-3, Settings(pack_tokens=8))
    rows = [update(learner, family) for _ in range(3)]
    found = [row[name] for row in rows for name in ("update/loss", "update/grad_norm")]
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    golden = [float(number) for line in lines for number in line.split()]
    assert found == pytest.approx(golden, rel=1e-9)


def test_a_batch_may_be_several_steps(double_model: PreTrainedModel, family: Family) -> None:
    twin = copy.deepcopy(double_model)
    once = descend(double_model, 100)
    halves = [update(once, family[:2]), update(once, family[2:])]
    twice = descend(twin, 100)
    twice = dataclasses.replace(twice, settings=Settings(max_norm=1e9, updates=2))
    found = update(twice, family)
    assert torch.equal(weights(double_model), weights(twin))
    losses = [half["update/loss"] for half in halves]
    assert found["update/loss"] == pytest.approx(sum(losses) / 2)
    assert found["update/trained_tokens"] == 7


def test_with_a_correction_the_first_step_has_ratio_one(
    double_model: PreTrainedModel, family: Family, alone: Logprobs
) -> None:
    """J = Σ c · A · π / π_old, with c = min(π_old / π_sampled, 2) and π = π_old."""
    settings = Settings(max_norm=1e9, correction=Correction())
    learner = dataclasses.replace(descend(double_model, 100), settings=settings)
    with torch.no_grad():
        now = alone(double_model, family[3])
    moved = dataclasses.replace(family[3], sampled=(now.item() - math.log(1.5),))
    assert update(learner, [moved])["update/loss"] == pytest.approx(1.5, rel=1e-6)
    far = dataclasses.replace(family[3], sampled=(-50.0,))
    assert update(learner, [far])["update/loss"] == pytest.approx(2.0, rel=1e-6)


def test_with_a_correction_later_steps_are_compared_with_the_first(
    double_model: PreTrainedModel, family: Family
) -> None:
    """Without a step in between the ratio is 1, so the loss is the weighted advantage."""
    optimizer = torch.optim.SGD(double_model.parameters(), lr=0.0)
    settings = Settings(correction=Correction(limit=1.000001), updates=2)
    learner = Learner(double_model, optimizer, settings)
    same = [dataclasses.replace(s, sampled=(-50.0,) * len(s.trained)) for s in family[2:]]
    # Halves with A = 0.25 (two tokens) and A = −1: −0.25 and 1.
    assert update(learner, same)["update/loss"] == pytest.approx((1 - 0.25) / 2, rel=1e-5)


def test_a_penalty_reaches_sequences_without_advantage(
    double_model: PreTrainedModel, family: Family
) -> None:
    learner = learner_of(double_model, 1e-3, Settings(kl=Kl(weight=0.1)))
    idle = [dataclasses.replace(each, advantages=(0.0,) * len(each.trained)) for each in family]
    first = update(learner, idle)
    assert first["update/computed_tokens"] == 12
    assert first["update/loss"] == first["update/grad_norm"] == 0
    with torch.no_grad():
        for parameter in double_model.parameters():
            parameter.mul_(1.05)
    assert update(learner, idle)["update/loss"] > 0


def test_checkpointed_activations_are_computed_twice_and_give_the_same_gradient(
    llama: PreTrainedModel, family: Family
) -> None:
    def step(**options: bool) -> tuple[Tensor, int]:
        model, passes = copy.deepcopy(llama), []
        layer = next(module for module in model.modules() if isinstance(module, LlamaMLP))
        layer.register_forward_pre_hook(lambda *_: passes.append(1))
        update(learner_of(model, 1e-3, Settings.model_validate(options)), family)
        return weights(model), len(passes)

    (kept, once), (recomputed, twice) = step(), step(gradient_checkpointing=True)
    assert (once, twice) == (1, 2)
    torch.testing.assert_close(kept, recomputed, atol=1e-6, rtol=0)
