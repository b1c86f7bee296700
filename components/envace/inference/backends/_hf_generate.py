"""Batched sampling with a transformers model: the prefix that a batch shares is computed once.

Rows are left-padded between the shared prefix and their own suffix, and leave the batch when they
are done. Letters: b rows, v vocabulary.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel
from transformers.utils import logging as transformers_logging

from envace.errors import PolicyError
from envace.inference.policy import Completion, Request
from envace.prefix import shared


def load(folder: Path, dtype: str, device: str) -> PreTrainedModel:
    """The model of a Hugging Face folder, from safetensors, on `device`."""
    if not (folder / "config.json").is_file():
        raise PolicyError(f"{folder} has no config.json; expected a model folder.")
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), use_safetensors=True, local_files_only=True
    )
    torch.nn.Module.to(model, torch.device(device))
    return model.eval()


@torch.inference_mode()
def generate(model: PreTrainedModel, requests: Sequence[Request], stop: int) -> list[Completion]:
    """One completion a request, in order; the shared prefix of the prompts is computed once."""
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
        hidden = _forward(model, tokens[:, None], mask, positions, cache)


def _prefill(
    model: PreTrainedModel, prompts: Sequence[tuple[int, ...]]
) -> tuple[Tensor, DynamicCache, Tensor]:
    """Hidden state at each prompt's last token (b, h), the cache and its mask (b, t)."""
    rows = len(prompts)
    low, high = min(prompts), max(prompts)
    common = min(shared(low, high), min(map(len, prompts)) - 1)
    cache = DynamicCache(config=model.config)
    if common:
        prefix = torch.tensor([prompts[0][:common]], device=model.device)
        ones = torch.ones_like(prefix)
        _forward(model, prefix, ones, torch.arange(common, device=model.device)[None], cache)
        cache.batch_repeat_interleave(rows)
    width = max(map(len, prompts)) - common
    ids = torch.zeros(rows, width, dtype=torch.long, device=model.device)
    mask = torch.ones(rows, common + width, dtype=torch.long, device=model.device)
    for row, prompt in enumerate(prompts):
        pad = common + width - len(prompt)
        ids[row, pad:] = torch.tensor(prompt[common:], device=model.device)
        mask[row, common : common + pad] = 0
    positions = (mask.cumsum(dim=1) - 1)[:, common:].clamp(min=0)
    return _forward(model, ids, mask, positions, cache), cache, mask


def _forward(
    model: PreTrainedModel, ids: Tensor, mask: Tensor, positions: Tensor, cache: DynamicCache
) -> Tensor:
    """Hidden state at the last position (b, h); the cache grows by the given ids."""
    out = model.base_model(
        input_ids=ids, attention_mask=mask, position_ids=positions, cache=cache, use_cache=True
    )
    return out.last_hidden_state[:, -1]


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
