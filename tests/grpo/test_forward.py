"""Log-probabilities in chunks are those in one piece, and so are their gradients."""

import torch
from torch import nn

from envace.grpo import forward


def test_chunks_change_neither_values_nor_gradients() -> None:
    torch.manual_seed(0)
    head = nn.Linear(4, 7, bias=False).double()
    targets = torch.arange(2 * forward.CHUNK + 5) % 7
    found: list[tuple[torch.Tensor, ...]] = []
    base = torch.randn(len(targets), 4, dtype=torch.double)
    for size in (len(targets), forward.CHUNK):
        states = base.clone().requires_grad_()
        pieces = [
            forward.chosen(head, part, ids, 0.7)
            for part, ids in zip(states.split(size), targets.split(size), strict=True)
        ]
        values = torch.cat(pieces)
        slopes = torch.autograd.grad(values.square().sum(), [states, head.weight])
        found.append((values.detach(), *slopes))
    for whole, cut in zip(*found, strict=True):
        torch.testing.assert_close(whole, cut, atol=0, rtol=1e-12)
