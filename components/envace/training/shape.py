"""The size of a model, from which follows what it takes."""

from collections.abc import Mapping

from envace.config import Config


class Shape(Config):
    """The size of a dense decoder, in the terms of its config.json."""

    layers: int
    """Transformer blocks."""
    width: int
    """Of the residual stream."""
    inner: int
    """Width inside the feed-forward block."""
    heads: int
    """Attention heads."""
    kv_heads: int
    """Heads of keys and values."""
    head_width: int
    """Width of a head."""
    vocabulary: int
    """Tokens."""
    tied: bool
    """Are the embeddings the head too?"""

    @property
    def parameters(self) -> int:
        """Weights, norms left out."""
        attention = 2 * self.width * self.head_width * (self.heads + self.kv_heads)
        block = attention + 3 * self.width * self.inner
        return self.layers * block + self.vocabulary * self.width * (1 if self.tied else 2)


def shape_of(values: object) -> Shape:
    """The shape in a config.json of a Llama, Qwen or Mistral. Raises `KeyError` for another."""
    if not isinstance(values, Mapping):
        raise KeyError("a config.json is an object")

    def number(name: str) -> int:
        return int(str(values[name]))

    heads = number("num_attention_heads")
    width = number("hidden_size")
    return Shape(
        layers=number("num_hidden_layers"),
        width=width,
        inner=number("intermediate_size"),
        heads=heads,
        kv_heads=int(str(values.get("num_key_value_heads") or heads)),
        head_width=int(str(values.get("head_dim") or width // heads)),
        vocabulary=number("vocab_size"),
        tied=bool(values.get("tie_word_embeddings", False)),
    )
