"""The dials of an update. They stand apart so that reading parameters does not import torch."""

from pydantic import Field

from envace.config import Config


class Clip(Config):
    """How far one update may move a token's probability."""

    low: float = Field(default=0.2, gt=0, lt=1)
    """The ratio is clipped below at 1 − low."""
    high: float = Field(default=0.2, gt=0)
    """The ratio is clipped above at 1 + high."""


class Settings(Config):
    """How a batch becomes an update."""

    clip: Clip = Clip()
    """Limits of the ratio."""
    max_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    pack_tokens: int = Field(default=16384, ge=1)
    """Most tokens computed at once; a longer sequence is computed alone."""
