"""What curation keeps, what it holds out, and where it runs."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from envace.config import Config as BaseConfig
from envace.plugins import Plugin, choose, plugin_of
from envace.tasks.overlap import manifest

Share = Annotated[float, Field(ge=0, lt=1)]


class Config(BaseConfig):
    """What is kept, and how much of it is held out."""

    max_tokens: int = Field(default=20_000, gt=0)
    """Longest task that trains, in tokens of the policy; held-out ones may be longer."""
    held_out: tuple[str, ...] = ()
    """Families of tools that are held out as a whole, for example `tau2_airline`; where tools are
    families of their own, names of tools."""
    held_out_share: Share | Mapping[str, Share] = 0.1
    """Share of the tool families that is never trained on, drawn by hash; or one a source (0 for a
    source not named)."""
    salt: str = "envace"
    """Changes which families are held out, not how many."""
    near: float = Field(default=0.9, ge=0, le=1)
    """Estimated Jaccard similarity from which two tasks are one; 0: only equal ones are."""
    languages: tuple[str, ...] = ()
    """Languages to keep, as ISO 639-1 codes; empty: all."""
    skip: tuple[str, ...] = ()
    """Rule filters that are not applied, by name."""
    decontaminate: manifest.Config = manifest.Config()
    """Benchmarks whose items must not be trained on."""
    engine: Annotated[Plugin, plugin_of("envace.tasks.curation.engines")] = Field(
        default_factory=lambda: choose("envace.tasks.curation.engines", "local"),
        validate_default=True,
    )
    """Where the work is done: `local` or `ray`."""
    shard_tasks: int = Field(default=5_000, gt=0)
    """Tasks a file of the result."""
