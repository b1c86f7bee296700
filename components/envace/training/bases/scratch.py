"""A base policy from nothing: random weights, and a tokenizer trained on the tasks.

It knows nothing and fits anywhere, so a whole pipeline can be tried in a minute. The same seed and
tasks give the same bytes. Its special tokens are those of ChatML, as SmolLM2 numbers them.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

import envace.config
from envace.artifacts import Cache
from envace.errors import TaskError
from envace.tasks.task import Task
from envace.training.bases._folder import whole
from envace.training.bases._quiet import quiet
from envace.training.shape import Shape

INNER = 3
"""Width inside a block, in widths of the residual stream."""
_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Config(envace.config.Config):
    """The size of a small Llama."""

    hidden_size: int = Field(default=128, ge=8)
    """Width of the residual stream."""
    layers: int = Field(default=4, ge=1)
    """Number of transformer blocks."""
    heads: int = Field(default=4, ge=1)
    """Attention heads; they divide the width into even parts."""
    vocab_size: int = Field(default=2048, ge=259)
    """Upper limit on the tokens of the vocabulary: 256 bytes, 3 special ones and merges."""
    context: int = Field(default=4096, ge=1)
    """Longest sequence in tokens."""
    seed: int = 0
    """Decides the weights."""


def shape(config: Config) -> Shape:
    """The size of the model, with a full vocabulary."""
    return Shape(
        layers=config.layers,
        width=config.hidden_size,
        inner=INNER * config.hidden_size,
        heads=config.heads,
        kv_heads=config.heads,
        head_width=config.hidden_size // config.heads,
        vocabulary=config.vocab_size,
        tied=True,
    )


def build(config: Config, cache: Cache, folder: Path, tasks: Sequence[Task]) -> Path:
    """Makes the folder. Raises `TaskError` when there is no task to train the tokenizer on."""
    if not tasks:
        raise TaskError("got no task, but the tokenizer is trained on them; curate some first.")
    with whole(folder) as temp, quiet():
        tokenizer = _tokenizer(tasks, config.vocab_size)
        tokenizer.save_pretrained(temp)
        _model(config, len(tokenizer)).save_pretrained(temp)
    return folder


def _tokenizer(tasks: Sequence[Task], vocab_size: int) -> Any:
    """Byte-level BPE; each digit is a token, so that numbers can be copied."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    start, end = _SPECIAL[1:]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator((text for task in tasks for text in _texts(task)), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=start,
        eos_token=end,
        pad_token=end,
        unk_token=_SPECIAL[0],
        chat_template=_TEMPLATE,
    )


def _texts(task: Task) -> Iterator[str]:
    """What a policy reads and writes when it plays the task."""
    yield task.system
    for tool in task.tools:
        yield json.dumps(tool.model_dump(mode="json"), ensure_ascii=False)
    for message in task.conversation:
        yield message.content
        for call in message.calls:
            yield json.dumps(call.model_dump(mode="json"), ensure_ascii=False)


def _model(config: Config, vocab_size: int) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=INNER * config.hidden_size,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        max_position_embeddings=config.context,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return LlamaForCausalLM(shape)
