"""A base policy from a folder of files at a source URI, for instance a Hugging Face repository.

Every file is pinned by its hash; what is not listed is not fetched.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pydantic import Field, field_validator

import envace.config
from envace.artifacts import SHA256, Cache
from envace.errors import ConfigError, PolicyError
from envace.tasks.task import Task
from envace.training.bases._folder import whole


class File(envace.config.Config):
    """One file of the folder."""

    path: str
    """Relative to the folder."""
    sha256: str = Field(pattern=SHA256)
    """In hex."""

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ConfigError(f"'{path}' leads out of the folder; give a relative path.")
        return path


class Config(envace.config.Config):
    """Which folder, and which of its files."""

    uri: str
    """Source URI of the folder, for example `hf://owner/name@revision`."""
    files: tuple[File, ...] = Field(min_length=1)
    """The files to take: config.json, the weights and the tokenizer."""


def build(config: Config, cache: Cache, folder: Path, tasks: Sequence[Task]) -> Path:
    """Fetches the files into `folder`."""
    if "config.json" not in (file.path for file in config.files):
        raise PolicyError(f"no config.json among the files of {config.uri}; list it with its hash.")
    with whole(folder) as temp:
        for file in config.files:
            target = temp / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = cache.fetch(f"{config.uri.rstrip('/')}/{file.path}", file.sha256)
            shutil.copyfile(source, target)
    return folder
