"""A model behind any OpenAI-compatible endpoint, asked for JSON: patient, and never over budget.

What may pass is tried again (429, 5xx, time-outs, broken connections), what will not is not (4xx).
A request is paid for before it is sent: no token is shorter than a byte, so its bytes and the limit
of its answer bound what it costs.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Literal, Self

import httpx
from pydantic import Field, JsonValue, field_validator

from envace import config
from envace.errors import ConfigError, PolicyError
from envace.strict_json import dumps, loads
from envace.tasks.labels.budget import Budget
from envace.tasks.labels.wire import NOTHING, Completion, Usage, seconds

MAX_SAID = 200
"""Characters of what an endpoint says that an error quotes."""
_MILLION = 1_000_000
_FATAL = (401, 402, 403, 404)
"""Statuses that no other request would escape: the key, the account, the address or the model."""
_BUSY = 429
_LATE = 408
_CONNECT_S = 10


class Config(config.Config):
    """Which model is asked, how hard, and for how much."""

    base_url: str | None = None
    """Address of an OpenAI-compatible API, up to and with `/v1`; none: no model is asked."""
    model: str = ""
    """Its name there."""
    temperature: float | None = Field(default=0, ge=0, le=2)
    """Of sampling; none: the endpoint's own, for models that take no other."""
    seed: int = 0
    """Of sampling, where the endpoint knows seeds, and of the waits between tries."""
    max_tokens: int = Field(default=2_048, gt=0)
    """Longest answer, in tokens."""
    limit_as: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the endpoint calls that limit."""
    json_schema: bool = True
    """Ask for `json_schema` answers; if not, or if the endpoint refuses, for a `json_object`."""
    concurrency: int = Field(default=8, gt=0)
    """Requests at once."""
    timeout_s: float = Field(default=120, gt=0)
    """Longest wait for an answer, in seconds."""
    tries: int = Field(default=6, gt=0)
    """Most tries of one request."""
    backoff_s: float = Field(default=1, ge=0)
    """Wait after the first failed try, in seconds; it doubles with each."""
    max_wait_s: float = Field(default=60, ge=0)
    """Longest wait between two tries, in seconds, whatever the endpoint asks for."""
    give_up_after: int = Field(default=20, gt=0)
    """Failed tries in a row, over all requests, after which the endpoint counts as down."""
    prompt_price: Decimal = Field(default=Decimal(0), ge=0)
    """Price of a million prompt tokens, in any currency."""
    completion_price: Decimal = Field(default=Decimal(0), ge=0)
    """Price of a million answer tokens, in the same currency."""
    ceiling: Decimal | None = Field(default=None, ge=0)
    """Most that may be spent, in the same currency; none: no limit."""

    @field_validator("base_url")
    @classmethod
    def _plain(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(r"https?://[^/@\s]+(/[^@\s?#]*)?", url):
            raise ConfigError("expected http(s)://HOST/PATH; a key is given apart from it.")
        return url


@dataclass(frozen=True)
class Request:
    """What a model is asked."""

    messages: Sequence[Mapping[str, str]]
    name: str
    """Of the schema."""
    schema: Mapping[str, JsonValue]
    """JSON Schema of the answer."""


@dataclass(frozen=True)
class Answer:
    """What it answered, and what that cost."""

    text: str
    cost: Decimal
    problem: str | None = None
    """Why there is no text: the endpoint refused this request, or failed at each try."""


@dataclass(frozen=True)
class _Failure:
    """A try that came to nothing."""

    said: str
    again: bool
    """May it pass when tried again?"""
    wait_s: float | None = None
    """How long the endpoint asks to wait."""


class Endpoint:
    """One model for many requests; used as an async context."""

    def __init__(self, config: Config, key: str | None = None, spent: Decimal = Decimal(0)) -> None:
        """`key` is sent, and kept in no file, log or error. `spent` was spent before."""
        self.budget = Budget(config.ceiling, spent)
        self._config, self._key = config, key
        self._json_schema = config.json_schema
        self._failures = 0
        self._slots = asyncio.Semaphore(config.concurrency)
        self._client = httpx.AsyncClient(
            base_url=config.base_url or "",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(None, connect=min(_CONNECT_S, config.timeout_s)),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def ask(self, request: Request) -> Answer:
        """The model's answer.

        Raises `PolicyError` when the endpoint is down or refuses everything, and before a request
        that could exceed the ceiling.
        """
        failure, cost = _Failure("", again=True), Decimal(0)
        async with self._slots:
            for count in range(self._config.tries):
                if count:
                    await asyncio.sleep(self._wait(request, count, failure))
                said, paid = await self._try(request)
                cost += paid
                if isinstance(said, str):
                    return Answer(said, cost)
                if not (failure := said).again:
                    break
        return Answer("", cost, failure.said)

    def _wait(self, request: Request, count: int, failure: _Failure) -> float:
        """Seconds before the try number `count`, at random so that many do not come at once."""
        asked = failure.wait_s
        jitter = Random(f"{self._config.seed} {count} {request.messages}").uniform(0.5, 1)
        wait = self._config.backoff_s * 2 ** (count - 1) * jitter if asked is None else asked
        return min(wait, self._config.max_wait_s)

    async def _try(self, request: Request) -> tuple[str | _Failure, Decimal]:
        """One try within the budget, and its cost."""
        if self._failures >= self._config.give_up_after:
            raise self._down("it failed too often")
        as_schema = self._json_schema
        body = dumps(_body(self._config, request, as_schema)).encode()
        bound = self._price(len(body), self._config.max_tokens)
        await self.budget.set_aside(bound)
        cost = bound  # What was sent may be billed, whatever becomes of it.
        try:
            said, usage = await self._send(body)
            if usage:
                cost = self._price(usage.prompt_tokens, usage.completion_tokens)
        finally:
            await self.budget.settle(bound, cost)
        return self._judged(said, as_schema), cost

    async def _send(self, body: bytes) -> tuple[str | httpx.Response | Exception, Usage | None]:
        """A chat completion's text, or the response or error that came in its place."""
        try:
            async with asyncio.timeout(self._config.timeout_s):
                response = await self._client.post(
                    "/chat/completions", content=body, headers={"Content-Type": "application/json"}
                )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return error, NOTHING
        except (httpx.RequestError, TimeoutError) as error:
            return error, None
        if not response.is_success:
            return response, NOTHING
        try:
            read = Completion.model_validate(loads(response.text))
        except ValueError as error:
            return error, None
        return read.choices[0].message.content or "", read.usage

    def _judged(self, said: str | httpx.Response | Exception, as_schema: bool) -> str | _Failure:
        """A failure as what to do about it. Raises `PolicyError` when nothing will help."""
        if isinstance(said, str):
            self._failures = 0
            return said
        if not isinstance(said, httpx.Response):
            failure = _Failure(f"no_answer: {type(said).__name__}", again=True)
        elif as_schema and said.status_code in (400, 422) and _about_schema(said.text):
            self._json_schema = False
            return _Failure("no_schema: it takes none", again=True, wait_s=0)
        else:
            failure = self._refused(said)
        if not isinstance(said, httpx.Response) or said.status_code != _BUSY:
            self._failures += 1
        if self._failures >= self._config.give_up_after:
            raise self._down(failure.said)
        return failure

    def _refused(self, response: httpx.Response) -> _Failure:
        status, text = response.status_code, " ".join(response.text[: 10 * MAX_SAID].split())
        said = text.replace(self._key, "***") if self._key else text
        if status in _FATAL:
            raise PolicyError(
                f"{self._host} answered {status} for model '{self._config.model}': "
                f"{said[:MAX_SAID]}; set its address, model or key right."
            )
        again = status in (_BUSY, _LATE) or status >= 500
        wait = seconds(response.headers.get("Retry-After", ""))
        return _Failure(f"http_{status}: {said[:MAX_SAID]}", again, wait)

    def _down(self, last: str) -> PolicyError:
        return PolicyError(
            f"{self._host} failed {self._failures} times in a row, at last with '{last}'; "
            "run it again when it answers: nothing that was answered is asked again."
        )

    @property
    def _host(self) -> str:
        return httpx.URL(self._config.base_url or "").host

    def _price(self, prompt: int, completion: int) -> Decimal:
        prices = self._config.prompt_price, self._config.completion_price
        return (prompt * prices[0] + completion * prices[1]) / _MILLION


def _body(config: Config, request: Request, as_schema: bool) -> Mapping[str, object]:
    schema = {"name": request.name, "strict": True, "schema": request.schema}
    wanted = {"type": "json_schema", "json_schema": schema}
    temperature = {} if config.temperature is None else {"temperature": config.temperature}
    return {
        "model": config.model,
        "messages": request.messages,
        "seed": config.seed,
        config.limit_as: config.max_tokens,
        "response_format": wanted if as_schema else {"type": "json_object"},
        **temperature,
    }


def _about_schema(said: str) -> bool:
    return "response_format" in said or "json_schema" in said
