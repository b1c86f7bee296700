import asyncio
from collections.abc import Callable

import pytest

from envace.episode import Call, Fault, Message, Observation, Role, Sequence, Source, Tool
from envace.inference.backends.scripted import ScriptedPolicy
from envace.inference.chat import ChatML
from envace.inference.policy import Completion, Request
from envace.prefix import shared
from envace.rehearsal.act import Budget
from envace.rehearsal.protocol import format_result, refuse
from envace.rehearsal.rehearse import RehearsedEnvironment, demonstrate, opening
from envace.strict_json import dumps

Tools = tuple[Tool, ...]
Respond = Callable[..., Observation]

CALL = Call(name="find_order", arguments={"order": 7})
OTHER = Call(name="find_order", arguments={"order": 8})
CONVERSATION = (
    Message(role="user", content="Find orders 7 and 8."),
    Message(role="assistant", calls=(CALL, OTHER)),
    Message(role="tool", name="find_order", content='{"status": "sent"}'),
    Message(
        role="tool",
        name="find_order",
        content=dumps(refuse("INVALID_PARAMETERS", "bad", []).content),
    ),
    Message(role="assistant", content="Order 7 is sent."),
)


@pytest.fixture
def respond(renderer: ChatML, tools: Tools) -> Respond:
    """The response to CALL when the policy writes `text` within a budget."""

    def once(text: str, **budget: int) -> Observation:
        policy = ScriptedPolicy(renderer, lambda _: text)
        environment = RehearsedEnvironment(policy, renderer, Budget(**budget), tools)
        return asyncio.run(environment.respond(CALL, CONVERSATION[:2]))

    return once


def test_a_response_is_what_the_policy_wrote_with_its_training_sequence(
    respond: Respond, renderer: ChatML, tools: Tools
) -> None:
    seen = respond(format_result({"status": "sent"}))
    assert seen.content == {"status": "sent"}
    assert seen.turn is not None
    assert seen.turn.sequence is not None
    assert (seen.turn.role, seen.turn.reply) == (Role.REHEARSE, '{"status": "sent"}')
    prompt = opening(renderer, tools, (), CONVERSATION[:2], CALL)
    assert seen.turn.sequence.spans[:-1] == prompt.spans
    assert seen.turn.sequence.spans[-1].source is Source.SAMPLED


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", Fault.EMPTY),
        ("sent", Fault.NO_TAG),
        ("<execution_result>{}", Fault.MALFORMED_TAG),
        ("<execution_result>{</execution_result>", Fault.BAD_JSON),
        ("<execution_result>1</execution_result>", Fault.WRONG_TYPE),
    ],
)
def test_a_malformed_response_is_an_observation_with_its_fault(
    respond: Respond, text: str, fault: Fault
) -> None:
    seen = respond(text)
    assert seen.turn is not None
    assert (seen.turn.fault, seen.turn.text, seen.turn.reply) == (fault, text, "")
    assert seen.content == {"error": {"code": str(fault), "message": "no response"}}
    assert seen.code is None


def test_a_response_at_its_limit_is_truncated(respond: Respond) -> None:
    turn = respond(format_result({}), rehearse_tokens=5).turn
    assert turn is not None
    assert (turn.fault, turn.tokens) == (Fault.TRUNCATED, 5)


def test_a_prompt_that_leaves_no_room_is_too_long_and_asks_nobody(respond: Respond) -> None:
    turn = respond(format_result({}), sequence_tokens=100).turn
    assert turn is not None
    assert (turn.fault, turn.sequence) == (Fault.TOO_LONG, None)


def test_each_call_is_answered_from_its_own_seed(renderer: ChatML, tools: Tools) -> None:
    class Listener:
        version = "listener"

        def __init__(self) -> None:
            self.seeds: list[int] = []

        async def sample(self, request: Request) -> Completion:
            self.seeds.append(request.seed)
            return Completion((renderer.stop,), (0.0,), "stop")

    listener = Listener()
    environment = RehearsedEnvironment(listener, renderer, Budget(), tools)
    for call in (CALL, OTHER, CALL):
        asyncio.run(environment.respond(call, CONVERSATION[:2]))
    first, second, again = listener.seeds
    assert (first != second, first == again) == (True, True)


def test_prompts_of_one_conversation_begin_alike_up_to_the_call(
    renderer: ChatML, tools: Tools
) -> None:
    one = opening(renderer, tools, (), CONVERSATION[:2], CALL)
    other = opening(renderer, tools, (), CONVERSATION[:2], OTHER)
    alike = renderer.decode(one.ids[: shared(one.ids, other.ids)])
    assert alike.endswith('with {"order": ')


def demonstrations(renderer: ChatML, tools: Tools, show: bool) -> tuple[Sequence, ...]:
    return demonstrate(renderer, tools, CONVERSATION, show_recorded=show)


def test_the_refusals_of_the_checks_are_not_demonstrated(renderer: ChatML, tools: Tools) -> None:
    (only,) = demonstrations(renderer, tools, show=True)
    assert renderer.decode(only.spans[-1].ids) == format_result({"status": "sent"})
    assert only.spans[-1].source is Source.DEMONSTRATED


def test_a_call_that_the_checks_would_refuse_is_not_demonstrated_whoever_refused_it(
    renderer: ChatML, tools: Tools
) -> None:
    conversation = (
        Message(role="assistant", calls=(Call(name="fly", arguments={}),)),
        Message(role="tool", name="fly", content='{"error": {"code": "NO_SUCH_TOOL"}}'),
    )
    assert demonstrate(renderer, tools, conversation, show_recorded=True) == ()


def test_recorded_calls_stand_in_a_demonstration_only_when_asked_for(
    renderer: ChatML, tools: Tools
) -> None:
    prompts = [
        renderer.decode(demonstrations(renderer, tools, show)[0].ids) for show in (True, False)
    ]
    assert 'Recorded:\nfind_order {"order": 7} -> {"status": "sent"}\nConv' in prompts[0]
    assert "Recorded:\nunavailable\nConv" in prompts[1]


def test_a_second_call_is_demonstrated_after_the_answer_to_the_first(
    renderer: ChatML, tools: Tools
) -> None:
    found = Message(role="tool", name="find_order", content='{"status": "open"}')
    conversation = (*CONVERSATION[:3], found, CONVERSATION[4])
    first, second = demonstrate(renderer, tools, conversation, show_recorded=False)
    assert 'tool: {"status": "sent"}\nPlay' in renderer.decode(second.ids)
    assert "tool:" not in renderer.decode(first.ids)
