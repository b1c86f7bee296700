"""How long is trained. It stands apart so that reading parameters does not import torch."""

from envace.config import Config


class Schedule(Config):
    """How much is trained."""

    steps: int = 200
    """Updates."""
    tasks_per_step: int = 16
    """Tasks, and so groups, of one update."""
    episodes_per_task: int = 4
    """G, the size of a group."""
    learning_rate: float = 1e-6
    """Of AdamW, constant."""
    checkpoint_every: int = 10
    """Updates between two checkpoints; 0 writes none."""


class WarmSchedule(Config):
    """How much is imitated."""

    steps: int = 12
    """Updates."""
    tasks_per_step: int = 16
    """Tasks of one update, each with all its outputs in both roles."""
    learning_rate: float = 1e-4
    """Of AdamW at its highest; it falls to a tenth along a cosine after `warmup_steps`."""
    warmup_steps: int = 2
    """Updates over which the learning rate rises from 0."""
    recorded_share: float = 0.5
    """Share of tasks whose REHEARSE prompts show the recorded calls, as in training; the rest show
    none, as at test time."""
    checkpoint_every: int = 0
    """Updates between two checkpoints; 0 writes none."""
