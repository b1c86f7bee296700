"""Log-probabilities of the trained tokens of a pack: one forward pass, and a head on few places.

Logits are as wide as the vocabulary, so those of many tokens at once would be the largest tensor of
all. They are computed a chunk at a time, and once more in the backward pass instead of kept.
Letters: s trained tokens, d width of the model, v vocabulary.
"""

from collections.abc import Generator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import Module
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from envace.grpo.batch import Pack

CHUNK = 2048
"""Trained tokens whose logits are in memory at once."""


def logprobs_of(model: PreTrainedModel, packed: Pack, temperature: float) -> Float[Tensor, " s"]:
    """Log-probability of each trained token of a pack under `model`."""
    device = model.device
    states = model.base_model(
        input_ids=packed.ids[None].to(device),
        attention_mask=packed.mask[None, None].to(device),
        position_ids=packed.positions[None].to(device),
        use_cache=False,
    ).last_hidden_state[0]
    head = model.get_output_embeddings()
    assert head is not None, "a causal language model has a head"
    return chosen(head, states[packed.sources.to(device)], packed.targets.to(device), temperature)


@contextmanager
def recomputing(model: PreTrainedModel) -> Generator[None]:
    """Layers that are to be checkpointed are, and only in here: elsewhere they keep a cache.

    transformers checkpoints a layer that is in training mode. What is inside the layer stays out of
    it, so that no dropout makes the update differ from the sampling.
    """
    layers = [module for module in model.modules() if getattr(module, "gradient_checkpointing", 0)]
    try:
        for layer in layers:
            layer.training = True
        yield
    finally:
        for layer in layers:
            layer.training = False


def chosen(
    head: Module, states: Float[Tensor, "s d"], targets: Int[Tensor, " s"], temperature: float
) -> Float[Tensor, " s"]:
    """Log-probability of each target; of more than `CHUNK` a chunk at a time."""
    if len(targets) <= CHUNK:
        return _chosen(head, states, targets, temperature)
    parts = zip(states.split(CHUNK), targets.split(CHUNK), strict=True)
    return torch.cat(
        [checkpoint(_chosen, head, *part, temperature, use_reentrant=False) for part in parts]
    )


def _chosen(
    head: Module, states: Float[Tensor, "s d"], targets: Int[Tensor, " s"], temperature: float
) -> Float[Tensor, " s"]:
    logits: Float[Tensor, "s v"] = head(states)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
    return logits.log_softmax(dim=-1).gather(1, targets[:, None])[:, 0]
