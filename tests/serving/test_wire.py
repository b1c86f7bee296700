import json

import pytest

from envace.serving.conversation import read_conversation
from envace.serving.wire import BadRequest, read_request

USER = {"role": "user", "content": "hi"}


def read(**fields: object):
    return read_request(json.dumps({"model": "m", "messages": [USER], **fields}).encode())


def test_a_request_has_our_two_fields():
    request = read(rehearsals=2)
    assert (request.rehearsals, request.memory, request.seed) == (2, "", 0)


def test_text_parts_are_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(messages=[{"role": "user", "content": parts}]).messages[0].content == "ab"


def test_the_newer_name_of_the_limit_is_accepted():
    assert (read(max_tokens=5).limit, read(max_completion_tokens=6).limit) == (5, 6)


def test_the_labels_of_a_client_change_nothing():
    labelled = read(user="u", metadata={"k": "v"}, stream_options={"include_usage": False})
    plain = read(messages=[{**USER, "name": "n"}])
    alike = {"messages", "tools", "seed", "temperature", "stream", "rehearsals", "memory"}
    assert labelled.model_dump(include=alike) == read().model_dump(include=alike)
    assert read_conversation(plain) == read_conversation(read())


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"n": 2}, "n is 2: input should be 1."),
        ({"tool_choice": "required"}, "tool_choice is 'required': input should be 'auto' or"),
        ({"top_p": 0.5}, "top_p is not supported; leave it out."),
        ({"stream_options": {"include_usage": True}}, "stream_options.include_usage is True: "),
        ({"temperature": 3}, "temperature is 3: input should be less than or equal to 2."),
        ({"rehearsals": 17}, "rehearsals is 17"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.user.content is None"),
        ({"messages": [{"role": "robot", "content": ""}]}, "messages.0 is "),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.user"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools.0.function.name"),
        ({"rehearsals": 1, "memory": "plan"}, "exclude each other"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_one_sentence(
    fields: dict[str, object], sentence: str
):
    with pytest.raises(BadRequest) as caught:
        read(**fields)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"temperature": NaN}', "NaN is not JSON"),
        (b'{"seed": 1e999}', "not plain JSON"),
        (b'{"user": "\\ud800"}', "surrogates"),
        (b"\xff", "utf-8"),
        (b'{"model": "m", "model": "m"}', "twice"),
        (b"[" * 100 + b"]" * 100, "nested deeper"),
        (b"[]", "the body is []"),
    ],
)
def test_a_body_that_is_not_plain_json_is_refused(body: bytes, sentence: str):
    with pytest.raises(BadRequest, match="body") as caught:
        read_request(body)
    assert sentence in str(caught.value)
