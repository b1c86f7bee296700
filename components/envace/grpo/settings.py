"""The dials of an update. They stand apart so that reading parameters does not import torch."""

from typing import Literal

from pydantic import Field, model_validator

from envace.config import Config
from envace.errors import ConfigError


class Clip(Config):
    """How far one update may move a token's probability."""

    low: float = Field(default=0.2, gt=0, lt=1)
    """The ratio is clipped below at 1 − low."""
    high: float = Field(default=0.2, gt=0)
    """The ratio is clipped above at 1 + high."""
    dual: float | None = Field(default=None, gt=1)
    """Where A < 0 the objective is at least dual · A (arXiv 1912.09729, eq. 5); null: no limit."""

    @model_validator(mode="after")
    def _dual_is_outside(self) -> "Clip":
        if self.dual is not None and self.dual <= 1 + self.high:
            raise ConfigError(
                f"clip.dual is {self.dual:g}, expected more than 1 + clip.high = "
                f"{1 + self.high:g}: below it the two limits would cross; raise it or lower high."
            )
        return self


class Kl(Config):
    """A penalty on leaving the policy that training began with; it is kept in memory as well."""

    estimator: Literal["k1", "k2", "k3"] = "k3"
    """Of the divergence of a token, as `grpo.kl` has them."""
    weight: float = Field(gt=0)
    """β, the weight of the penalty; for none write `kl: null`."""


class Correction(Config):
    """What is done where the engine that samples is not the one that trains.

    Its weight c(t) is a function of π_old(t) / π_sampled(t), with π_old the trained policy before
    the batch.
    """

    kind: Literal["truncated", "masked"] = "truncated"
    """`truncated`: at most `limit`; `masked`: 0 outside [1 / limit, limit]."""
    limit: float = Field(default=2.0, gt=1)
    """The largest weight."""


class Settings(Config):
    """How a batch becomes an update. The defaults are the paper's objective."""

    clip: Clip = Clip()
    """Limits of the ratio."""
    kl: Kl | None = None
    """Penalty on leaving the first policy; null: none."""
    correction: Correction | None = None
    """Importance correction between two engines; null: the ratio is taken to π_sampled itself."""
    normalisation: Literal["token", "sequence", "fixed"] = "token"
    """The mean of the objective, as `grpo.weights` has them: over all tokens; over each sequence
    and then over sequences; or each sequence's sum over `fixed_length`, then over sequences."""
    fixed_length: int | None = Field(default=None, ge=1)
    """Tokens that a sequence's sum is divided by; with `normalisation: fixed` only."""
    mask_overlong: bool = False
    """Do the outputs of an episode that ran out of tokens or steps count in the baseline but not
    train (arXiv 2503.14476, sec. 3.4)?"""
    updates: int = Field(default=1, ge=1)
    """Optimiser steps a batch: it is cut into so many parts, in order."""
    max_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    pack_tokens: int = Field(default=16384, ge=1)
    """Most tokens computed at once; a longer sequence is computed alone."""
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass instead of keeping them?"""

    @model_validator(mode="after")
    def _fixed_has_a_length(self) -> "Settings":
        if (self.normalisation == "fixed") != (self.fixed_length is not None):
            raise ConfigError(
                f"normalisation is '{self.normalisation}' and fixed_length is "
                f"{self.fixed_length}; expected both or neither of 'fixed' and a length."
            )
        return self

    @model_validator(mode="after")
    def _clip_acts(self) -> "Settings":
        if self.correction and self.updates == 1 and self.clip != Clip():
            raise ConfigError(
                "clip was set, but with a correction and one update a batch the ratio is 1 and no "
                "limit acts; leave clip out, or raise updates, or write `correction: null`."
            )
        return self
