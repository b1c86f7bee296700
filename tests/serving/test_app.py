import socket
import threading
import time
from collections.abc import Iterator

import httpx
import openai
import pytest
import uvicorn

from envace.episode import Tool
from envace.serving.app import create_app
from envace.serving.wire import Identity

IDENTITY = Identity(model="envace", alias="champion", version=3, digest="abc123")


@pytest.fixture
def url(agent) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(create_app(agent, IDENTITY), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


def as_openai(tool: Tool) -> dict[str, object]:
    return {"type": "function", "function": tool.model_dump()}


def ask(client: openai.OpenAI, content: str, **more):
    messages = [{"role": "user", "content": content}]
    return client.chat.completions.create(model="envace", messages=messages, **more)


def test_an_answer_names_the_bytes_that_gave_it(client):
    raw = client.chat.completions.with_raw_response.create(
        model="champion", messages=[{"role": "user", "content": "hi"}]
    )
    answer = raw.parse()
    assert answer.choices[0].message.content == "hi"
    assert (answer.system_fingerprint, raw.headers["x-envace-digest"]) == ("abc123", "abc123")
    assert answer.choices[0].finish_reason == "stop"


def test_the_sampled_tokens_are_counted(client):
    assert ask(client, "hi").envace["tokens"] == 3  # "h", "i" and the stop id


def test_a_request_decides_temperature_seed_and_limit(client, clerk):
    ask(client, "hi")
    ask(client, "hi", temperature=0, seed=5, max_tokens=7)
    own, asked = clerk.asked
    assert (own.temperature, own.seed, own.max_tokens) == (0.7, 0, 8000)
    assert (asked.temperature, asked.seed, asked.max_tokens) == (0, 5, 7)


def test_a_tool_is_called_and_its_result_is_read(client, find):
    tools = [as_openai(find)]
    first = ask(client, "where is order 7?", tools=tools).choices[0]
    (call,) = first.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("find_order", '{"order_id": "7"}')
    assert first.finish_reason == "tool_calls"
    messages = [
        {"role": "user", "content": "where is order 7?"},
        first.message,
        {"role": "tool", "tool_call_id": call.id, "content": '{"status": "shipped"}'},
    ]
    answer = client.chat.completions.create(model="envace", messages=messages, tools=tools)
    assert answer.choices[0].message.content.startswith('{"status": "shipped"}')


def test_rehearsals_are_counted_and_their_memory_can_be_sent_back(client):
    answer = ask(client, "hi", extra_body={"rehearsals": 2})
    assert answer.envace["attempts"] == 2
    memory = answer.envace["memory"]
    again = ask(client, "hi", extra_body={"memory": memory})
    assert again.choices[0].message.content == answer.choices[0].message.content
    assert again.envace["attempts"] == 0
    assert answer.envace["tokens"] == again.envace["tokens"] + 2 * len("hi|")


def test_a_stream_is_one_chunk(client, find):
    (chunk,) = ask(client, "find", tools=[as_openai(find)], stream=True)
    assert chunk.choices[0].delta.tool_calls[0].function.name == "find_order"
    assert chunk.choices[0].finish_reason == "tool_calls"


def test_a_malformed_output_is_given_as_it_is_with_its_fault(client):
    answer = ask(client, "garble")
    assert answer.choices[0].message.content == "<tool_call>{"
    assert answer.envace["fault"] == "INVALID_TOOL_CALL_FORMAT"


def test_an_output_that_was_cut_off_says_so(client):
    answer = ask(client, "hello", max_tokens=2)
    assert answer.choices[0].message.content == "he"
    assert answer.choices[0].finish_reason == "length"


def test_a_request_that_cannot_be_honoured_is_400(client):
    with pytest.raises(openai.BadRequestError, match="top_p is not supported"):
        ask(client, "hi", top_p=0.5)


def test_a_conversation_that_does_not_fit_is_400(client):
    with pytest.raises(openai.BadRequestError, match="longer than 20,000 tokens"):
        ask(client, "x" * 20_000)


def test_another_model_is_404(client):
    with pytest.raises(openai.NotFoundError, match="'gpt' is not served here"):
        client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "x"}])


def test_an_engine_that_is_down_is_503(client):
    with pytest.raises(openai.InternalServerError, match="the engine is down") as caught:
        ask(client, "break")
    assert caught.value.status_code == 503


def test_a_body_that_is_too_long_is_400(url):
    answer = httpx.post(f"{url}/v1/chat/completions", content=b" " * 4_000_001)
    assert (answer.status_code, "send less" in answer.text) == (400, True)


def test_models_health_and_version(client, url):
    assert [model.id for model in client.models.list()] == ["envace"]
    assert httpx.get(f"{url}/health").json() == {"status": "ok"}
    version = httpx.get(f"{url}/version")
    assert version.json() == IDENTITY.model_dump()
    assert version.headers["x-envace-digest"] == "abc123"
