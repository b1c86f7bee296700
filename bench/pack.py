"""What the prefix tree saves: one update of GRPO with it, against its sequences one by one.

    python bench/pack.py --tasks 2 --episodes 8 --prompt 300 --tail 100

A batch is made of random ids: each task has a prompt a role, which all its episodes share, and
each episode goes on from both with a tail of its own, half of it trained. Nothing is padded in
either way. Times are medians over the rounds, in which the two take turns.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import typer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from envace.episode import Role
from envace.grpo.batch import Sample
from envace.grpo.settings import Settings
from envace.grpo.update import Learner, update
from envace.inference.backends._hf_generate import load

ONE_BY_ONE = 1
"""A limit that every sequence is over, so that each has a pack of its own."""


@dataclass(frozen=True)
class Shape:
    """The size of a batch."""

    tasks: int
    episodes: int
    prompt: int
    tail: int


@dataclass(frozen=True)
class Cost:
    """What one update took."""

    tokens: float
    seconds: float


def batch_of(shape: Shape, vocabulary: int, seed: int = 0) -> list[Sample]:
    """Sequences of both roles for every episode; the advantages of a role sum to 0."""
    draw = random.Random(seed)

    def ids(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(vocabulary) for _ in range(count))

    trained = tuple(range(shape.prompt + shape.tail // 2, shape.prompt + shape.tail))
    found: list[Sample] = []
    for _ in range(shape.tasks):
        for role in Role:
            prompt = ids(shape.prompt)
            for episode in range(shape.episodes):
                advantage = 0.5 if episode % 2 else -0.5
                sampled, advantages = (-1.0,) * len(trained), (advantage,) * len(trained)
                found.append(Sample(role, prompt + ids(shape.tail), trained, sampled, advantages))
    return found


def random_llama() -> PreTrainedModel:
    """A Llama of 8 layers of width 256 with random weights."""
    torch.manual_seed(0)
    shape = LlamaConfig(
        vocab_size=2048,
        hidden_size=256,
        intermediate_size=768,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
    )
    return LlamaForCausalLM(shape)


def cost_of(model: PreTrainedModel, batch: Sequence[Sample], pack_tokens: int) -> Cost:
    """One update that leaves the weights as they are."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    learner = Learner(model, optimizer, Settings(pack_tokens=pack_tokens))
    began = time.perf_counter()
    metrics = update(learner, batch)
    return Cost(metrics["update/computed_tokens"], time.perf_counter() - began)


def main(
    model: Annotated[Path | None, typer.Option(help="Model folder; else a random Llama.")] = None,
    tasks: Annotated[int, typer.Option(help="Tasks of the batch.")] = 2,
    episodes: Annotated[int, typer.Option(help="Episodes a task.")] = 8,
    prompt: Annotated[int, typer.Option(help="Tokens that a role's sequences share.")] = 300,
    tail: Annotated[int, typer.Option(help="Tokens of each sequence after the prompt.")] = 100,
    rounds: Annotated[int, typer.Option(help="Timed updates of each kind.")] = 3,
) -> None:
    """Prints tokens and seconds of an update with the prefix tree and without, and the ratios.

    Example: python bench/pack.py --tasks 2 --episodes 8 --prompt 300 --tail 100
    """
    policy = load(model, "float32", "cpu") if model else random_llama()
    batch = batch_of(Shape(tasks, episodes, prompt, tail), policy.config.vocab_size)
    whole_group = prompt + episodes * tail
    cost_of(policy, batch[:2], whole_group)
    costs = [
        (cost_of(policy, batch, whole_group), cost_of(policy, batch, ONE_BY_ONE))
        for _ in range(rounds)
    ]
    tree, alone = (
        Cost(kind[0].tokens, median(cost.seconds for cost in kind))
        for kind in zip(*costs, strict=True)
    )
    for name, cost in (("prefix tree", tree), ("one by one", alone)):
        typer.echo(f"{name:<12}{cost.tokens:>10,.0f} tokens{cost.seconds:>9.2f} s")
    fewer, faster = alone.tokens / tree.tokens, alone.seconds / tree.seconds
    typer.echo(f"{fewer:.2f} times fewer tokens, {faster:.2f} times faster")


if __name__ == "__main__":
    typer.run(main)
