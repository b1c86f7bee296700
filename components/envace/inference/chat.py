"""Messages to token ids, span by span, for models that speak ChatML.

Append-only: a conversation is rendered by adding spans to a `Sequence`, never by rendering it
again, so the prompt of a turn is the prompt of the turn before plus what was sampled plus what
answered it. Text is encoded with special tokens switched off: a user or a tool that writes
`<|im_end|>` gets ordinary tokens, not the end of its message.
"""

from collections.abc import Sequence as Items
from pathlib import Path

from tokenizers import Tokenizer

from envace.episode import Source, Span, Tool
from envace.errors import PolicyError
from envace.strict_json import dumps

START, END = "<|im_start|>", "<|im_end|>"


class ChatML:
    """Renderer of SmolLM2 and of every model with plain ChatML turns."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        start, end = tokenizer.token_to_id(START), tokenizer.token_to_id(END)
        if start is None or end is None:
            raise PolicyError(
                f"the tokenizer has no {START} and {END}; its chat template is unknown here: "
                "use a ChatML model or add a renderer."
            )
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True
        self._start, self.stop = start, end
        self._newline = self.encode("\n")

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of plain text; special-token text inside it is escaped to ordinary tokens."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Items[int]) -> str:
        """Text of sampled ids: the stop id at the end is dropped, other special ids are shown."""
        body = ids[:-1] if ids and ids[-1] == self.stop else ids
        return self._tokenizer.decode(list(body), skip_special_tokens=False)

    def message(self, role: str, text: str, source: Source) -> tuple[Span, ...]:
        """A complete message that the policy did not write."""
        return (
            Span(Source.TEMPLATE, (self._start, *self.encode(f"{role}\n"))),
            Span(source, self.encode(text)),
            Span(Source.TEMPLATE, (self.stop, *self._newline)),
        )

    def cue(self) -> Span:
        """What stands before an output of the policy."""
        return Span(Source.TEMPLATE, (self._start, *self.encode("assistant\n")))

    def close(self, output: Items[int]) -> Span:
        """What stands between an output and the next message, however the output ended."""
        ended = bool(output) and output[-1] == self.stop
        return Span(Source.TEMPLATE, self._newline if ended else (self.stop, *self._newline))

    def demonstrate(self, text: str) -> Span:
        """An output written by a recording in the policy's place, stop id included."""
        return Span(Source.DEMONSTRATED, (*self.encode(text), self.stop))


def load_renderer(folder: Path) -> ChatML:
    """The renderer of the model in a Hugging Face folder. Raises `PolicyError` if there is none."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise PolicyError(f"{path} is not there; expected a model folder: run the stage before.")
    return ChatML(Tokenizer.from_file(str(path)))


def signature(tool: Tool) -> str:
    """A tool on one line, the short form that a small model can afford.

    `find_order(name: string, open?: boolean) - Finds an order.` Enumerations are spelt out, and a
    parameter whose schema says more than a type is given as JSON.
    """
    required = tool.parameters.get("required")
    needed = set(required) if isinstance(required, list) else set()
    properties = tool.parameters.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    inside = ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(schema)}" for name, schema in fields.items()
    )
    return f"{tool.name}({inside})" + (f" - {tool.description}" if tool.description else "")


def _type(schema: object) -> str:
    if not isinstance(schema, dict):
        return "any"
    said = {key for key in schema if key not in ("description", "title")}
    if isinstance(options := schema.get("enum"), list):
        return "|".join(dumps(option) for option in options)
    if said == {"type"}:
        return str(schema["type"])
    items = schema.get("items")
    if said == {"type", "items"} and isinstance(items, dict):
        return f"{_type(items)}[]"
    return dumps({key: schema[key] for key in schema if key in said})
