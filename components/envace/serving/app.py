"""The agent behind OpenAI's chat completions API.

One idea: the server is one version. It is told at its start which bytes it serves, never asks
again, and says so in every response, so that an answer can be traced to its model.
"""

import time
from collections.abc import AsyncIterator
from dataclasses import replace

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import JsonValue
from starlette.middleware.base import RequestResponseEndpoint

from envace.episode import Fault
from envace.errors import PolicyError
from envace.rollout.agent import Agent
from envace.serving.conversation import Conversation, read_conversation
from envace.serving.wire import (
    BadRequest,
    ChatRequest,
    Cost,
    Identity,
    Model,
    Models,
    UnknownModel,
    read_request,
    write_error,
    write_response,
)
from envace.strict_json import dumps

_MAX_BYTES = 4_000_000
"""Of a request's body."""


def create_app(agent: Agent, identity: Identity) -> FastAPI:
    """The API of `agent`, whose weights are those that `identity` names."""
    app = FastAPI(title="envace", version=str(identity.version))
    app.add_exception_handler(BadRequest, _refuse)
    app.add_exception_handler(PolicyError, _fail)
    created = int(time.time())

    @app.middleware("http")
    async def sign(http: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(http)
        response.headers["x-envace-digest"] = identity.digest
        return response

    @app.post("/v1/chat/completions")
    async def complete(http: Request) -> Response:
        request = read_request(await _body(http))
        body = await _answer(agent, request, read_conversation(request), identity)
        if request.stream:
            return StreamingResponse(_events(body), media_type="text/event-stream")
        return JSONResponse(body)

    @app.get("/v1/models")
    async def models() -> Models:
        return Models(data=(Model(id=identity.model, created=created),))

    @app.get("/version")
    async def version() -> Identity:
        return identity

    @app.get("/health")
    async def health() -> JsonValue:
        return {"status": "ok"}

    return app


async def _refuse(_: Request, error: Exception) -> JSONResponse:
    status = error.status if isinstance(error, BadRequest) else 400
    return JSONResponse(write_error(str(error), "invalid_request_error"), status)


async def _fail(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse(write_error(str(error), "server_error"), 503)


async def _answer(
    agent: Agent, request: ChatRequest, asked: Conversation, identity: Identity
) -> JsonValue:
    """Rehearses in private if that is asked for, then acts once."""
    if request.model not in (identity.model, identity.alias):
        raise UnknownModel(
            f"model '{request.model}' is not served here; ask for '{identity.model}'."
        )
    start = time.monotonic()
    memory, attempts, spent = request.memory, 0, 0
    if request.rehearsals:
        left = await agent.rehearse(
            asked.system, asked.tools, asked.messages, request.rehearsals, request.seed
        )
        memory, attempts, spent = left.text, len(left.attempts), left.tokens
    acting = _limited(agent, request)
    turn = await acting.act(asked.system, asked.tools, asked.messages, memory, request.seed)
    if turn.fault is Fault.TOO_LONG:
        limit = agent.actor.budget.sequence_tokens
        raise BadRequest(f"the conversation is longer than {limit:,} tokens; send a shorter one.")
    cost = Cost(
        attempts=attempts,
        memory=memory,
        tokens=spent + turn.tokens,
        seconds=round(time.monotonic() - start, 3),
        fault=turn.fault,
    )
    return write_response(request, turn, cost, identity)


def _limited(agent: Agent, request: ChatRequest) -> Agent:
    """The agent with the request's temperature, and with its limit if that is a lower one."""
    budget = agent.actor.budget
    wanted = {
        "act_tokens": min(request.limit or budget.act_tokens, budget.act_tokens),
        "temperature": budget.temperature if request.temperature is None else request.temperature,
    }
    return replace(agent, actor=replace(agent.actor, budget=budget.model_copy(update=wanted)))


async def _body(http: Request) -> bytes:
    """The request's body, read no further than its limit."""
    body = bytearray()
    async for chunk in http.stream():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise BadRequest(f"the body is longer than {_MAX_BYTES:,} bytes; send less.")
    return bytes(body)


async def _events(chunk: JsonValue) -> AsyncIterator[str]:
    yield f"data: {dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"
