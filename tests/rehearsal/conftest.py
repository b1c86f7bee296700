"""A renderer over bytes, a domain of one tool, and the comparison with a golden file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from envace.episode import Tool
from envace.inference.chat import ChatML

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(scope="session")
def renderer() -> ChatML:
    bytes_only = Tokenizer(models.BPE())
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    bytes_only.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bytes_only.train_from_iterator([], trainer)
    return ChatML(bytes_only)


@pytest.fixture(scope="session")
def tools() -> tuple[Tool, ...]:
    """Finds an order by its number, or cancels it for one of two reasons."""
    order = {"type": "integer"}
    find = {"type": "object", "properties": {"order": order}, "required": ["order"]}
    reason = {"type": "string", "enum": ["late", "broken"]}
    cancel = {
        "type": "object",
        "properties": {"order": order, "reason": reason},
        "required": ["order"],
        "additionalProperties": False,
    }
    return (
        Tool(name="find_order", description="Finds an order.", parameters=find),
        Tool(name="cancel_order", parameters=cancel),
    )


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with a file of tests/golden. Delete the file to have it written anew."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if not path.exists():
            path.write_text(text, "utf-8")
            pytest.fail(f"{name} was not there and is written now; read it, then run again.")
        assert text == path.read_text("utf-8"), f"{name} differs; delete it to have it rewritten"

    return compare
