import json

import pytest

from envace.episode import Call, Message
from envace.serving.conversation import read_conversation
from envace.serving.wire import BadRequest, read_request

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "Be kind."}


def read(messages: list[object], **fields: object):
    body = {"model": "m", "messages": messages, **fields}
    return read_conversation(read_request(json.dumps(body).encode()))


def calls(**arguments: str) -> dict[str, object]:
    """An assistant message that makes a call of `f` for each id."""
    asked = [
        {"id": key, "type": "function", "function": {"name": f"f_{key}", "arguments": text}}
        for key, text in arguments.items()
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def result(key: str, content: str = "{}") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": key, "content": content}


def tool(name: str = "f", **schema: object) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def test_results_come_in_the_order_of_their_calls():
    found = read([USER, calls(a='{"x": 1}', b="{}"), result("b", "[2]"), result("a", "[1]")])
    assert found.messages == (
        Message(role="user", content="hi"),
        Message(
            role="assistant",
            calls=(Call(name="f_a", arguments={"x": 1}), Call(name="f_b", arguments={})),
        ),
        Message(role="tool", name="f_a", content="[1]"),
        Message(role="tool", name="f_b", content="[2]"),
    )


def test_system_messages_are_joined():
    found = read([SYSTEM, {"role": "developer", "content": "Be brief."}, USER])
    assert found.system == "Be kind.\n\nBe brief."


@pytest.mark.parametrize(
    ("content", "json_text"),
    [('{"a":1}', '{"a": 1}'), ("shipped", '{"result": "shipped"}'), ("3", '{"result": 3}')],
)
def test_a_result_becomes_a_json_object_or_array(content, json_text):
    found = read([USER, calls(a="{}"), result("a", content)])
    assert found.messages[-1].content == json_text


def test_tool_choice_none_offers_no_tool():
    tools = [tool(type="object", properties={})]
    assert [each.name for each in read([USER], tools=tools).tools] == ["f"]
    assert read([USER], tools=tools, tool_choice="none").tools == ()


def test_a_tool_without_parameters_takes_none():
    found = read([USER], tools=[{"type": "function", "function": {"name": "f"}}])
    assert found.tools[0].parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([], "starts with a user message"),
        ([SYSTEM], "starts with a user message"),
        ([USER, {"role": "assistant", "content": "hi"}], "ends with a user message"),
        ([USER, SYSTEM], "a system message stands after"),
        ([USER, result("a")], "'a' is no call just before it"),
        ([USER, calls(a="{}"), USER], "the calls ['a'] have the results []"),
        ([USER, calls(a="{}"), result("a"), result("a")], "have the results ['a', 'a']"),
        ([USER, calls(a="{"), result("a")], "the arguments of 'a' are not JSON"),
        ([USER, calls(a="NaN"), result("a")], "the arguments of 'a' are not JSON"),
        ([USER, calls(a="[]"), result("a")], "the arguments of 'a' are not a JSON object"),
    ],
)
def test_a_conversation_that_does_not_hold_together_is_refused(messages, sentence):
    with pytest.raises(BadRequest) as caught:
        read(messages)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("tools", "sentence"),
    [
        ([tool(), tool()], "'f' stands twice"),
        ([tool(properties={"x": {"$ref": "http://evil/schema"}})], "refers to 'http://evil"),
        ([tool(type="objekt")], "the schema of 'f' cannot be used"),
    ],
)
def test_a_tool_that_cannot_be_trusted_is_refused(tools, sentence):
    with pytest.raises(BadRequest) as caught:
        read([USER], tools=tools)
    assert sentence in str(caught.value)
