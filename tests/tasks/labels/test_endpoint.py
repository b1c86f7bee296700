import asyncio
import threading
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from envace.errors import ConfigError, PolicyError
from envace.tasks.labels.endpoint import Answer, Config, Endpoint, Request
from tests.fixtures.endpoint import Model, Said

ASKED = Request(({"role": "user", "content": "Answer in JSON."},), "answer", {"type": "object"})
BYTES = 249
"""Of the request `ASKED` as it is sent to 'm'."""


def config(model: Model, **fields: Any) -> Config:
    quick = {"base_url": model.url, "model": "m", "max_tokens": 100, "backoff_s": 0.001}
    return Config.read({**quick, **fields}, "labels")


async def _ask(config: Config, count: int, key: str | None, spent: Decimal) -> list[Answer]:
    async with Endpoint(config, key, spent) as endpoint:
        return list(await asyncio.gather(*(endpoint.ask(ASKED) for _ in range(count))))


def ask(config: Config, count: int = 1, key: str | None = None, spent: str = "0") -> list[Answer]:
    return asyncio.run(_ask(config, count, key, Decimal(spent)))


def texts(answers: Sequence[Answer]) -> list[str]:
    return [answer.text for answer in answers]


def test_a_request_is_what_the_config_says_and_the_key_is_sent(model: Model) -> None:
    model.say(Said('{"a": 1}'))
    assert ask(config(model, seed=3), key="secret") == [Answer('{"a": 1}', Decimal(0))]
    schema = {"name": "answer", "strict": True, "schema": {"type": "object"}}
    assert model.asked == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Answer in JSON."}],
            "seed": 3,
            "max_tokens": 100,
            "temperature": 0,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
    ]
    assert model.keys == ["Bearer secret"]


def test_the_limit_and_the_temperature_are_as_a_model_takes_them(model: Model) -> None:
    ask(config(model, limit_as="max_completion_tokens", temperature=None))
    assert model.asked[0]["max_completion_tokens"] == 100
    assert not {"max_tokens", "temperature"} & model.asked[0].keys()


@pytest.mark.parametrize(
    "bad",
    [
        Said(status=429, headers={"Retry-After": "0"}),
        Said(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Said(status=429, headers={"Retry-After": "soon"}),
        Said(status=408),
        Said(status=500, raw="oops"),
        Said(status=503),
        Said(raw="<html>"),
        Said(raw='{"choices": []}'),
        Said(raw='{"choices": [{"message": {"content": NaN}}]}'),
    ],
)
def test_what_may_pass_is_tried_again(model: Model, bad: Said) -> None:
    model.say(bad, bad, Said("good"))
    assert texts(ask(config(model))) == ["good"]
    assert len(model.asked) == 3


@pytest.mark.parametrize("status", [400, 413, 422, 302])
def test_what_will_not_pass_is_not_tried_again(model: Model, status: int) -> None:
    model.say(Said(status=status, raw="too\nlong"))
    (answer,) = ask(config(model))
    assert (answer.text, answer.problem) == ("", f"http_{status}: too long")
    assert len(model.asked) == 1


def test_tries_come_to_an_end(model: Model) -> None:
    model.say(Said(status=500, raw="oops"))
    assert ask(config(model, tries=3)) == [Answer("", Decimal(0), "http_500: oops")]
    assert len(model.asked) == 3


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_no_request_would_escape_ends_the_run(model: Model, status: int) -> None:
    model.say(Said(status=status, raw="bad key: secret"))
    with pytest.raises(PolicyError, match=rf"^127.0.0.1 answered {status} for model 'm': bad key"):
        ask(config(model))


def test_no_error_holds_the_key(model: Model) -> None:
    model.say(Said(status=401, raw="bad key: sk-secret"))
    with pytest.raises(PolicyError) as caught:
        ask(config(model), key="sk-secret")
    assert "bad key: ***;" in str(caught.value)
    model.say(Said(status=400, raw="sk-secret"))
    assert ask(config(model), key="sk-secret")[0].problem == "http_400: ***"


def test_an_endpoint_that_takes_no_schema_is_asked_for_an_object(model: Model) -> None:
    refusal = Said(status=400, raw="'response_format' of type 'json_schema' is not supported")
    model.script = lambda body, number: (
        refusal if body["response_format"]["type"] == "json_schema" else Said("good")
    )
    assert texts(ask(config(model, concurrency=1), 2)) == ["good", "good"]
    assert [body["response_format"]["type"] for body in model.asked] == [
        "json_schema",
        "json_object",
        "json_object",
    ]


def test_failures_in_a_row_break_the_run(model: Model) -> None:
    model.say(Said(status=500, raw="oops"))
    with pytest.raises(PolicyError, match="failed 4 times in a row, at last with 'http_500: oops'"):
        ask(config(model, tries=3, give_up_after=4, concurrency=1), 9)
    assert len(model.asked) == 4


def test_a_success_sets_the_row_of_failures_back(model: Model) -> None:
    bad, good = Said(status=500), Said("good")
    model.say(bad, bad, good, bad, bad, good)
    assert texts(ask(config(model, give_up_after=3, concurrency=1), 2)) == ["good", "good"]


def test_a_busy_endpoint_is_not_down(model: Model) -> None:
    busy = Said(status=429, headers={"Retry-After": "0"})
    model.say(*[busy] * 5, Said("good"))
    assert texts(ask(config(model, give_up_after=2))) == ["good"]


def test_nothing_there_breaks_the_run() -> None:
    nowhere = Config(base_url="http://127.0.0.1:9/v1", backoff_s=0, give_up_after=2)
    with pytest.raises(PolicyError, match=r"at last with 'no_answer: ConnectError'"):
        ask(nowhere)


def test_a_slow_answer_is_given_up_and_paid_for(model: Model) -> None:
    never = threading.Event()
    model.say(Said(wait=never), Said("good", usage=(10, 10)))
    slow = config(model, timeout_s=0.2, prompt_price="1000000", completion_price="1000000")
    (answer,) = ask(slow)
    never.set()
    assert (answer.text, answer.cost) == ("good", BYTES + 100 + 10 + 10)


def test_no_more_requests_are_made_at_once_than_allowed(model: Model) -> None:
    ask(config(model, concurrency=3), 20)
    assert model.most_at_once <= 3
    assert len(model.asked) == 20


def test_a_cost_is_what_the_usage_says_to_the_last_digit(model: Model) -> None:
    model.say(Said("a", usage=(1_234, 56)), Said("b", usage=None))
    priced = config(model, prompt_price="0.15", completion_price="0.60", concurrency=1)
    known, unknown = ask(priced, 2)
    assert known.cost == Decimal("0.0002187")  # (1234 · 0.15 + 56 · 0.60) / 1e6
    assert unknown.cost == Decimal("0.00009735")  # its bound: (249 · 0.15 + 100 · 0.60) / 1e6


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_request_that_could_exceed_the_ceiling_is_not_sent(
    model: Model, concurrency: int
) -> None:
    # A request is bound by 249 · 0.01 + 100 · 0.02 = 4.49 and costs 100 · 0.01 + 50 · 0.02 = 2.
    prices = {"prompt_price": "10000", "completion_price": "20000", "concurrency": concurrency}
    with pytest.raises(
        PolicyError,
        match=r"^8 are spent and the next request may cost 4\.49, but",
    ):
        ask(config(model, **prices, ceiling="12"), 9)
    assert len(model.asked) == 4
    assert len(ask(config(model, **prices, ceiling="12.49"), 5)) == 5


def test_what_was_spent_before_counts(model: Model) -> None:
    priced = config(model, completion_price="10000", ceiling="3")
    assert len(ask(priced, spent="2")) == 1
    with pytest.raises(PolicyError, match=r"^2.01 are spent"):
        ask(priced, spent="2.01")
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "url", ["https://user:key@host/v1", "host/v1", "file:///v1", "https://host/v1?key=1"]
)
def test_an_address_is_an_address_and_holds_no_key(url: str) -> None:
    with pytest.raises(ConfigError, match=r"expected http\(s\)://HOST/PATH"):
        Config.read({"base_url": url}, "labels")
