"""Sequences that begin alike, and the models that read them."""

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from envace.episode import Role
from envace.grpo.batch import Sample
from tests.fixtures.tiny import tiny_gpt2, tiny_llama


@pytest.fixture(scope="session")
def llama():
    return tiny_llama()


@pytest.fixture
def double_model():
    return tiny_gpt2()


def _sample(ids: tuple[int, ...], trained: tuple[int, ...], advantage: float) -> Sample:
    """A sequence whose trained tokens share an advantage and were sampled at −2, −2.5, −3, …"""
    sampled = tuple(-2.0 - 0.5 * place for place in range(len(trained)))
    return Sample(Role.ACT, ids, trained, sampled, (advantage,) * len(trained))


@pytest.fixture(scope="session")
def family():
    """Two that diverge after a shared prompt, one that is a prefix of another, and a lone one."""
    return (
        _sample((1, 20, 30, 40, 50, 60), (3, 5), 1.0),
        _sample((1, 20, 30, 90, 80), (3, 4), -0.5),
        _sample((1, 20, 30, 40), (2, 3), 0.25),
        _sample((70, 70, 30, 2), (1,), -1.0),
    )


@pytest.fixture(scope="session")
def alone():
    """Log-probabilities of a sequence's trained tokens, computed on their own."""

    def logprobs(model: PreTrainedModel, sample: Sample, temperature: float = 1.0) -> Tensor:
        logits = model(torch.tensor([sample.ids])).logits[0] / temperature
        table = logits.log_softmax(dim=-1)
        return torch.stack([table[place - 1, sample.ids[place]] for place in sample.trained])

    return logprobs
