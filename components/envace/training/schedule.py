"""How long is trained. It stands apart so that reading parameters does not import torch."""

from pydantic import Field

from envace.config import Config


class Schedule(Config):
    """How much is trained."""

    steps: int = Field(default=200, ge=1)
    """Updates."""
    tasks_per_step: int = Field(default=16, ge=1)
    """Tasks, and so groups, of one update."""
    episodes_per_task: int = Field(default=4, ge=1)
    """G, the size of a group."""
    refill: int = Field(default=0, ge=0)
    """Rounds in which other tasks are played for groups that teach nothing; 0 plays none."""
    learning_rate: float = Field(default=1e-6, gt=0)
    """Of AdamW, constant."""
    checkpoint_every: int = Field(default=10, ge=0)
    """Updates between two checkpoints; 0 writes none."""


class WarmSchedule(Config):
    """How much is imitated."""

    steps: int = Field(default=12, ge=1)
    """Updates."""
    tasks_per_step: int = Field(default=16, ge=1)
    """Tasks of one update, each with all its outputs in both roles."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Of AdamW at its highest; it falls to a tenth along a cosine after `warmup_steps`."""
    warmup_steps: int = Field(default=2, ge=0)
    """Updates over which the learning rate rises from 0."""
    recorded_share: float = Field(default=0.5, ge=0, le=1)
    """Share of tasks whose REHEARSE prompts show the recorded calls, as in training; the rest show
    none, as at test time."""
    rehearsed_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the tasks whose calls are imitated in the REHEARSE role; all are in the ACT role."""
    checkpoint_every: int = Field(default=0, ge=0)
    """Updates between two checkpoints; 0 writes none."""
