"""A base policy from a GGUF file: its quantised weights are unpacked once and saved as safetensors.

What was saved must speak as the file does: both are asked, greedily, for the same few tokens.
"""

import gc
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

import envace.config
from envace.artifacts import SHA256, Cache
from envace.errors import PolicyError
from envace.tasks.task import Task
from envace.training.bases._folder import whole
from envace.training.bases._quiet import quiet

log = logging.getLogger(__name__)

_PROMPT = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
_TOKENS = 12


class Config(envace.config.Config):
    """Which file, and how its weights are saved."""

    uri: str
    """Source URI of the GGUF file."""
    sha256: str = Field(pattern=SHA256)
    """Its sha256, in hex."""
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    """Number format of the saved weights."""


def build(config: Config, cache: Cache, folder: Path, tasks: Sequence[Task]) -> Path:
    """Unpacks the file into `folder`. Raises `PolicyError` when that fails or alters speech."""
    path = cache.fetch(config.uri, config.sha256)
    with whole(folder) as temp, quiet(), _uncollected():
        try:
            before = _unpack(path, temp, config.dtype)
        except (ValueError, KeyError, OSError) as error:
            raise PolicyError(
                f"{config.uri} cannot be unpacked ({error}); "
                "expected a GGUF file of a model family that transformers knows."
            ) from error
        after = _saved_speech(temp)
        if before != after:
            raise PolicyError(
                f"{config.uri} speaks otherwise once unpacked: ids {after}, expected {before}; "
                "use another file or dtype."
            )
    log.info("unpacked %s into %s", config.uri, folder)
    return folder


def _unpack(path: Path, folder: Path, dtype: str) -> list[int]:
    """Saves model and tokenizer of a GGUF file into `folder`; returns what the file says."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kind = getattr(torch, dtype)
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    packed = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=kind)
    # A model that carries its quantisation config cannot be saved: a twin without it can.
    plain = packed.config.__class__.from_dict(
        {k: v for k, v in packed.config.to_dict().items() if k != "quantization_config"}
    )
    twin = AutoModelForCausalLM.from_config(plain, dtype=kind)
    twin.load_state_dict(packed.state_dict(), strict=True)
    twin.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return _speech(packed, tokenizer)


def _saved_speech(folder: Path) -> list[int]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    return _speech(model, AutoTokenizer.from_pretrained(folder))


def _speech(model: Any, tokenizer: Any) -> list[int]:
    """The ids of a fixed prompt and of its greedy continuation."""
    prompt = tokenizer(_PROMPT, return_tensors="pt")
    said = model.generate(**prompt, max_new_tokens=_TOKENS, do_sample=False)
    return [int(token) for token in said[0]]


@contextmanager
def _uncollected() -> Generator[None]:
    """No garbage collection: reading a GGUF makes a million small objects, and none is garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
