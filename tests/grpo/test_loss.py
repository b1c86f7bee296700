"""The objective at single tokens, by hand; the limits are 0.8 and 1.2."""

import math

import pytest
import torch

from envace.grpo.loss import Clip, clipped_loss, imitation_loss


def loss_and_slope(ratio: float, advantage: float) -> tuple[float, float]:
    """The loss of one token with this ratio, and its derivative by the log-probability."""
    sampled = torch.tensor([-2.0], dtype=torch.double)
    logprobs = (sampled + math.log(ratio)).requires_grad_()
    advantages = torch.tensor([advantage], dtype=torch.double)
    loss = clipped_loss(logprobs, sampled, advantages, Clip(), tokens=1)
    loss.backward()
    assert logprobs.grad is not None
    return loss.item(), logprobs.grad.item()


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 0.5, -0.5, -0.5),  # at the start the slope is −A
        (1.1, 2.0, -2.2, -2.2),  # inside the limits: −ratio · A
        (1.5, 2.0, -2.4, 0.0),  # good and already likelier by 1.2: no more
        (0.5, 2.0, -1.0, -1.0),  # good and less likely: pulled back without a limit
        (0.5, -2.0, 1.6, 0.0),  # bad and already less likely than 0.8: no more
        (1.5, -2.0, 3.0, 3.0),  # bad and likelier: pushed back without a limit
        (1.5, 0.0, 0.0, 0.0),  # no advantage, no loss
    ],
)
def test_a_token_has_its_loss_and_its_slope(
    ratio: float, advantage: float, loss: float, slope: float
) -> None:
    assert loss_and_slope(ratio, advantage) == pytest.approx((loss, slope))


def test_the_limits_may_differ() -> None:
    ratio = torch.tensor([1.5, 0.5]).log()
    loss = clipped_loss(
        ratio, torch.zeros(2), torch.tensor([1.0, -1.0]), Clip(low=0.1, high=0.3), tokens=1
    )
    assert loss.item() == pytest.approx(-1.3 + 0.9)


def test_losses_of_the_parts_add_up_to_the_loss_of_the_batch() -> None:
    now = torch.tensor([-1.0, -2.0, -0.5])
    then = torch.tensor([-1.1, -1.0, -0.5])
    gain = torch.tensor([1.0, -0.5, 2.0])
    whole = clipped_loss(now, then, gain, Clip(), tokens=3)
    parts = [
        clipped_loss(now[cut], then[cut], gain[cut], Clip(), tokens=3)
        for cut in (slice(0, 1), slice(1, 3))
    ]
    assert sum(part.item() for part in parts) == pytest.approx(whole.item())
    # min(e^0.1, 1.2)·1 + min(−0.5·e^−1, −0.5·0.8) + 2
    assert whole.item() == pytest.approx(-(math.exp(0.1) - 0.4 + 2) / 3)


def test_imitation_is_the_negative_mean_log_probability() -> None:
    assert imitation_loss(torch.tensor([-1.0, -3.0]), tokens=4).item() == 1.0


def test_tensors_of_different_lengths_are_refused() -> None:
    with pytest.raises(TypeError, match="sampled"):
        clipped_loss(torch.zeros(3), torch.zeros(2), torch.zeros(3), Clip(), tokens=3)
