"""Batched sampling with a transformers model: what prompts share is computed once.

The prompts are read as prefix trees; from the keys and values of a tree each row takes those of its
own path, padded on the left. Rows are decoded together and leave the batch when they are done.
Letters: b rows, w width of the longest prompt, t tokens of a tree, h hidden size.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.nn.functional import pad
from transformers import AutoModelForCausalLM, Cache, DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer
from transformers.utils import logging as transformers_logging

from envace.errors import PolicyError
from envace.inference.policy import Completion, Request
from envace.prefix import ancestors, runs, tree

TREE_TOKENS = 1024
"""Most tokens of a tree that is read at once: attention within it costs their square."""

ROOM = 32
"""Tokens that a full buffer grows by."""


def load(folder: Path, dtype: str, device: str) -> PreTrainedModel:
    """The model of a Hugging Face folder, from safetensors, on `device`.

    Raises `PolicyError` when there is none, its files are damaged, or there is no such device.
    """
    if not (folder / "config.json").is_file():
        raise PolicyError(f"{folder} has no config.json; expected a model folder.")
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=getattr(torch, dtype), use_safetensors=True, local_files_only=True
        )
        torch.nn.Module.to(model, torch.device(device))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        first = str(error).strip().splitlines()[0]
        raise PolicyError(
            f"{folder} cannot be loaded on {device}: {first}; make the folder again by the stage "
            "that wrote it, or correct policy.engine.device."
        ) from None
    return model.eval()


@torch.inference_mode()
def generate(model: PreTrainedModel, requests: Sequence[Request], stop: int) -> list[Completion]:
    """One completion a request, in order."""
    rows = [_Row(request) for request in requests]
    hidden, cache, mask = _prefill(model, [request.prompt for request in requests])
    head = model.get_output_embeddings()
    assert head is not None, "a causal language model has a head"
    live = list(rows)
    while True:
        tokens, logprobs = _pick(head(hidden).float(), live)
        for row, token, logprob in zip(live, tokens.tolist(), logprobs.tolist(), strict=True):
            row.append(token, logprob, stop)
        going = [index for index, row in enumerate(live) if not row.finish]
        if not going:
            return [row.completion() for row in rows]
        if len(going) < len(live):
            keep = torch.tensor(going, device=mask.device)
            live = [live[index] for index in going]
            cache.batch_select_indices(keep)
            mask, tokens = mask[keep], tokens[keep]
        positions = mask.sum(dim=1, keepdim=True)
        mask = torch.cat([mask, mask.new_ones(len(live), 1)], dim=1)
        hidden = _step(model, tokens, mask, positions, cache)


def _prefill(
    model: PreTrainedModel, prompts: Sequence[tuple[int, ...]]
) -> tuple[Tensor, Cache, Tensor]:
    """Hidden state at each prompt's last token (b, h), the cache and its mask (b, w)."""
    width = max(map(len, prompts))
    found = runs(prompts, TREE_TOKENS)
    parts = [_read(model, [prompts[index] for index in run], width) for run in found]
    place = torch.tensor([index for run in found for index in run]).argsort().to(model.device)
    hidden = torch.cat([hidden for hidden, _ in parts])[place]
    layers: list[Any] = []
    for pairs in zip(*(layers for _, layers in parts), strict=True):
        keys, values = (torch.cat(states)[place] for states in zip(*pairs, strict=True))
        layers.append(_Roomy(keys, values))
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=model.device)
    mask = torch.arange(width, device=model.device) >= width - lengths[:, None]
    return hidden, Cache(layers=layers), mask.long()


def _read(
    model: PreTrainedModel, prompts: Sequence[tuple[int, ...]], width: int
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """One forward pass over the tree of sorted prompts.

    Gives the hidden state at each prompt's last token (b, h) and, for each layer, the keys and
    values of each prompt, padded on the left to `width`.
    """
    row, device = tree(prompts), model.device
    cache = DynamicCache(config=model.config)
    states = model.base_model(
        input_ids=torch.tensor([row.ids], device=device),
        attention_mask=torch.from_numpy(ancestors(row.parents))[None, None].to(device),
        position_ids=torch.tensor([row.positions], device=device),
        cache=cache,
        use_cache=True,
    ).last_hidden_state[0]
    paths = torch.tensor([(0,) * (width - len(p)) + p for p in row.paths], device=device)
    layers = [_states(layer) for layer in cache.layers]
    return states[paths[:, -1]], [
        (keys[0][:, paths].transpose(0, 1), values[0][:, paths].transpose(0, 1))
        for keys, values in layers
    ]


def _states(layer: object) -> tuple[Tensor, Tensor]:
    """Keys and values of a layer. Raises `PolicyError` for attention that keeps something else."""
    keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
    if type(layer) not in (DynamicLayer, _Roomy) or keys is None or values is None:
        raise PolicyError(
            f"the model keeps a {type(layer).__name__}; expected full attention in every layer: "
            "use another model or another backend."
        )
    return keys, values


def _step(
    model: PreTrainedModel, tokens: Tensor, mask: Tensor, positions: Tensor, cache: Cache
) -> Tensor:
    """Hidden state (b, h) at one more token a row; the cache grows by it."""
    out = model.base_model(
        input_ids=tokens[:, None],
        attention_mask=mask,
        position_ids=positions,
        cache=cache,
        use_cache=True,
    )
    return out.last_hidden_state[:, -1]


class _Roomy(DynamicLayer):
    """Keys and values in a buffer with room, so that a step copies its own token and no other."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys, self.values = keys, values
        self._buffers: tuple[Tensor, Tensor] | None = None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        used = self.get_seq_length()
        total = used + key_states.shape[-2]
        if self._buffers is None or total > self._buffers[0].shape[-2]:
            spare = (0, 0, 0, total - used + ROOM)
            keys, values = _states(self)
            self._buffers = pad(keys, spare), pad(values, spare)
        keys, values = self._buffers
        keys[:, :, used:total], values[:, :, used:total] = key_states, value_states
        self.keys, self.values = keys[:, :, :total], values[:, :, :total]
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        self._buffers = None


def _pick(logits: Tensor, rows: Sequence["_Row"]) -> tuple[Tensor, Tensor]:
    """One token a row and its log-probability, by inverting the cumulative distribution."""
    heat = torch.tensor([row.request.temperature or 1.0 for row in rows], device=logits.device)
    logprobs = (logits / heat[:, None]).log_softmax(dim=-1)
    greedy = torch.tensor([row.request.temperature == 0 for row in rows], device=logits.device)
    cumulative = logprobs.double().exp().cumsum(dim=-1)
    draws = torch.tensor([row.draw() for row in rows], dtype=torch.double, device=logits.device)
    target = (draws * cumulative[:, -1])[:, None]
    sampled = torch.searchsorted(cumulative, target, right=True).squeeze(1)
    tokens = torch.where(greedy, logprobs.argmax(dim=-1), sampled.clamp(max=logits.shape[1] - 1))
    return tokens, logprobs.gather(1, tokens[:, None]).squeeze(1)


class _Row:
    """One request while it is decoded."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.finish = ""
        self._random = random.Random(request.seed)

    def draw(self) -> float:
        return self._random.random()

    def append(self, token: int, logprob: float, stop: int) -> None:
        self.ids.append(token)
        self.logprobs.append(logprob)
        if token == stop:
            self.finish = "stop"
        elif len(self.ids) == self.request.max_tokens:
            self.finish = "length"

    def completion(self) -> Completion:
        finish = "stop" if self.finish == "stop" else "length"
        return Completion(tuple(self.ids), tuple(self.logprobs), finish)
