"""What a run will take, before anything is trained: memory by part, and work a step.

Sums over a model's shape, no measurement: weights and moments are exact, activations those of a
dense decoder with fused attention (arXiv 2205.05198, sec. 4.1, in the bytes of its number format).
It imports no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from envace.grpo.settings import Settings
from envace.rehearsal.act import Budget
from envace.rollout.play import Rules
from envace.training.schedule import Schedule
from envace.training.shape import Shape

CHUNK_COPIES = 3
"""Copies of a chunk's logits in float32: themselves, their softmax and its gradient."""
KEPT_A_LAYER = 17
"""Widths of activations that a layer keeps for the backward pass, beside its inner ones."""


@dataclass(frozen=True)
class Plan:
    """An upper bound on what a run takes."""

    memory: Mapping[str, int]
    """Bytes by part; generation and update take turns, so the most of both counts."""
    sampled_tokens: int
    """Of one step, if every output is as long as it may be."""
    flops: float
    """Of one step: 2 a parameter and token sampled or read, 6 a parameter and token trained."""

    @property
    def peak(self) -> int:
        """Bytes at the worst moment."""
        phases = ("caches of generation", "activations of the update")
        fixed = sum(size for part, size in self.memory.items() if part not in phases)
        return fixed + max(self.memory[part] for part in phases)


@dataclass(frozen=True)
class Sizes:
    """The dials that memory and time depend on."""

    schedule: Schedule
    budget: Budget
    rules: Rules
    update: Settings
    bytes_each: int
    """Of a number of the engine's format."""
    max_batch: int
    """Sequences that are generated at once."""


def plan(shape: Shape, sizes: Sizes) -> Plan:
    """The upper bound for a shape and a set of dials."""
    each, sampled = sizes.bytes_each, _sampled(sizes)
    weights = shape.parameters * each
    memory = {"weights": weights, "gradients": weights, "moments of AdamW": 2 * weights}
    if sizes.update.kl:
        memory["first policy"] = weights
    cache = 2 * shape.layers * shape.kv_heads * shape.head_width * each
    episodes = sizes.schedule.tasks_per_step * sizes.schedule.episodes_per_task
    at_once = min(sizes.max_batch, episodes)
    memory["caches of generation"] = cache * sizes.budget.sequence_tokens * at_once
    memory["activations of the update"] = _activations(shape, sizes)
    read = episodes * sizes.budget.sequence_tokens
    flops = shape.parameters * (2 * (sampled + read) + 6 * (sampled + read))
    return Plan(memory, sampled, float(flops))


def _sampled(sizes: Sizes) -> int:
    """Tokens of a step: each ACT output, and a rehearsal of each of its calls, at full length."""
    episodes = sizes.schedule.tasks_per_step * sizes.schedule.episodes_per_task
    acts = sizes.rules.max_steps * sizes.budget.act_tokens
    rehearsals = sizes.rules.max_steps * sizes.rules.max_calls * sizes.budget.rehearse_tokens
    room = sizes.budget.sequence_tokens
    return episodes * (min(acts, room) + rehearsals)


def _activations(shape: Shape, sizes: Sizes) -> int:
    tokens, each = sizes.update.pack_tokens, sizes.bytes_each
    layer = tokens * each * (KEPT_A_LAYER * shape.width + 3 * shape.inner)
    kept = shape.layers * tokens * each * shape.width + layer
    all_layers = kept if sizes.update.gradient_checkpointing else shape.layers * layer
    mask = tokens * tokens * each
    logits = CHUNK_COPIES * 4 * min(tokens, 2048) * shape.vocabulary
    return all_layers + mask + logits
