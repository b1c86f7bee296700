"""Two small tasks, and learners that start from the same weights."""

import pytest
import torch
from torch import Tensor

from envace.episode import Call, Message, Tool
from envace.grpo.settings import Settings
from envace.grpo.update import Learner, learner_of
from envace.tasks.task import Task
from tests.fixtures.tiny import renderer_of, tiny_llama


@pytest.fixture(scope="session")
def renderer():
    return renderer_of()


@pytest.fixture
def learner():
    """Makes a learner; each has weights of its own, the same at first."""
    return lambda: learner_of(tiny_llama(), 1e-3, Settings())


@pytest.fixture(scope="session")
def weights():
    def flat(learner: Learner) -> Tensor:
        return torch.cat([p.detach().flatten() for p in learner.model.parameters()])

    return flat


@pytest.fixture(scope="session")
def tasks():
    return tuple(_task(city) for city in ("Ghent", "Łódź"))


def _task(city: str) -> Task:
    return Task(
        id=city,
        source="test",
        domain="weather",
        tier="one",
        system="Be kind.",
        tools=(Tool(name="weather", parameters={"type": "object"}),),
        conversation=(
            Message(role="user", content=f"{city}?"),
            Message(role="assistant", calls=(Call(name="weather", arguments={"city": city}),)),
            Message(role="tool", name="weather", content='{"sky": "clear"}'),
            Message(role="assistant", content="It is clear."),
        ),
    )
