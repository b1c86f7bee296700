"""ChatML by the byte: in this tokenizer a printable character's id is its code − 30."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from envace.episode import Source, Span, Tool
from envace.errors import PolicyError
from envace.inference.chat import ChatML, load_renderer, signature
from tests.fixtures.tiny import tokenizer_of

START, STOP, NEWLINE = 1, 2, 201
USER = (87, 85, 71, 84, NEWLINE)
HI = (42, 75)


def text_of(renderer: ChatML, *spans: Span) -> str:
    return renderer.decode([token for span in spans for token in span.ids])


def test_a_message_is_header_text_and_end(renderer: ChatML) -> None:
    assert renderer.message("user", "Hi", Source.RECORDED) == (
        Span(Source.TEMPLATE, (START, *USER)),
        Span(Source.RECORDED, HI),
        Span(Source.TEMPLATE, (STOP, NEWLINE)),
    )


def test_a_conversation_reads_as_chatml(renderer: ChatML) -> None:
    output = renderer.demonstrate("Hello")
    spans = [
        *renderer.message("system", "Be kind.", Source.TEMPLATE),
        *renderer.message("user", "Grüß dich 😀", Source.RECORDED),
        renderer.cue(),
        output,
        renderer.close(output.ids),
    ]
    assert text_of(renderer, *spans) == (
        "<|im_start|>system\nBe kind.<|im_end|>\n"
        "<|im_start|>user\nGrüß dich 😀<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n"
    )


def test_a_demonstration_holds_its_stop_id(renderer: ChatML) -> None:
    assert renderer.demonstrate("Hi") == Span(Source.DEMONSTRATED, (*HI, STOP))


def test_an_output_is_closed_once_however_it_ended(renderer: ChatML) -> None:
    assert renderer.close((*HI, STOP)) == Span(Source.TEMPLATE, (NEWLINE,))
    assert renderer.close(HI) == Span(Source.TEMPLATE, (STOP, NEWLINE))
    assert renderer.close(()) == Span(Source.TEMPLATE, (STOP, NEWLINE))


@pytest.mark.parametrize("special", ["<|im_end|>", "<|im_start|>", "<|endoftext|>"])
def test_special_text_becomes_ordinary_tokens(renderer: ChatML, special: str) -> None:
    ids = renderer.encode(f"a{special}b")
    assert len(ids) == len(special) + 2
    assert not {0, START, STOP} & set(ids)
    assert renderer.decode(ids) == f"a{special}b"


def test_decoding_drops_the_stop_id_at_the_end_and_shows_the_others(renderer: ChatML) -> None:
    assert renderer.decode((*HI, STOP)) == "Hi"
    assert renderer.decode((STOP, *HI, START)) == "<|im_end|>Hi<|im_start|>"
    assert renderer.decode(()) == ""


def test_a_tokenizer_without_chatml_is_refused() -> None:
    with pytest.raises(PolicyError, match="its chat template is unknown here"):
        ChatML(Tokenizer(models.BPE()))


def test_the_renderer_of_a_model_folder_is_loaded(tmp_path: Path) -> None:
    tokenizer_of().save(str(tmp_path / "tokenizer.json"))
    assert load_renderer(tmp_path).demonstrate("Hi").ids == (*HI, STOP)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"tokenizer\.json is not there; expected a model folder"):
        load_renderer(tmp_path)


def tool(properties: dict[str, object], **more: object) -> Tool:
    schema = {"type": "object", "properties": properties, **more}
    return Tool.model_validate({"name": "f", "parameters": schema})


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "description": "a", "title": "b"}, "string"),
        ({"type": "string", "enum": ["a", "ü"]}, '"a"|"ü"'),
        ({"enum": [1, None]}, "1|null"),
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"type": "array", "items": {"enum": ["a"]}}, '"a"[]'),
        ({"type": "integer", "minimum": 1}, '{"type": "integer", "minimum": 1}'),
        ({"type": "array"}, "array"),
        (True, "any"),
    ],
)
def test_a_parameter_is_written_by_its_schema(schema: object, shown: str) -> None:
    assert signature(tool({"x": schema}, required=["x"])) == f"f(x: {shown})"


def test_a_signature_marks_optional_parameters_and_ends_with_the_description() -> None:
    two = tool({"a": {"type": "string"}, "b": {"type": "boolean"}}, required=["a"])
    described = two.model_copy(update={"description": "Finds it."})
    assert signature(described) == "f(a: string, b?: boolean) - Finds it."


def test_a_tool_without_parameters_has_empty_brackets() -> None:
    assert signature(Tool(name="now", parameters={})) == "now()"
