import asyncio
from collections.abc import Callable

import pytest

from envace.episode import Call, Fault, Message, Role, Sequence, Source, Tool, Turn
from envace.inference.backends.scripted import ScriptedPolicy
from envace.inference.chat import ChatML
from envace.rehearsal.act import Actor, Budget, demonstrate, read
from envace.rehearsal.protocol import format_calls, refuse
from envace.strict_json import dumps

BAD = Call(name="find_order", arguments={"order": "7"})
GOOD = Call(name="find_order", arguments={"order": 7})
Act = Callable[..., tuple[Turn, Sequence]]


@pytest.fixture
def act(renderer: ChatML) -> Act:
    """Acts once on an empty conversation, saying `text` within a budget."""

    def once(text: str, **budget: int) -> tuple[Turn, Sequence]:
        policy = ScriptedPolicy(renderer, lambda _: text)
        actor = Actor(policy, renderer, Budget(**budget))
        return asyncio.run(actor.act(actor.open("Be kind.", ()), seed=0))

    return once


def demonstrated(renderer: ChatML, sequence: Sequence) -> list[str]:
    spans = [span for span in sequence.spans if span.source is Source.DEMONSTRATED]
    return [renderer.decode(span.ids) for span in spans]


def test_the_sampled_ids_stand_in_the_sequence_as_they_were_sampled(
    act: Act, renderer: ChatML
) -> None:
    turn, sequence = act("Hi.")
    (sampled,) = [span for span in sequence.spans if span.source is Source.SAMPLED]
    assert sampled.ids == (*renderer.encode("Hi."), renderer.stop)
    assert sampled.version == "scripted"
    assert turn == Turn(Role.ACT, "Hi.", reply="Hi.", tokens=4)


def test_an_output_at_its_limit_is_truncated(act: Act) -> None:
    turn, sequence = act(format_calls((GOOD,)), act_tokens=10)
    assert (turn.fault, turn.calls, turn.tokens) == (Fault.TRUNCATED, (), 10)
    assert sequence.trained.count(True) == 10


def test_an_output_that_is_cut_off_is_a_fault_even_if_it_can_be_read() -> None:
    turn = read(format_calls((GOOD,)), 9, cut=True)
    assert (turn.fault, turn.calls) == (Fault.TRUNCATED, ())


def test_a_full_sequence_is_too_long_and_stays_as_it_was(act: Act) -> None:
    turn, sequence = act("Hi.", sequence_tokens=10)
    assert (turn.fault, turn.tokens) == (Fault.TOO_LONG, 0)
    assert sequence.outputs == 0


def test_the_rest_of_the_sequence_limits_an_output(act: Act) -> None:
    _, opened = act("", sequence_tokens=1)
    room = len(opened.ids) + len("<|assistant\n") - len("<|") + 1 + 2
    turn, sequence = act("Hello.", sequence_tokens=room)
    assert (turn.text, turn.fault) == ("He", Fault.TRUNCATED)
    assert sequence.trained.count(True) == 2


def test_a_refused_call_is_shown_but_only_its_repair_is_imitated(
    renderer: ChatML, tools: tuple[Tool, ...]
) -> None:
    error = dumps(refuse("INVALID_PARAMETERS", "bad", ["order"]).content)
    conversation = (
        Message(role="user", content="Where is order 7?"),
        Message(role="assistant", calls=(BAD,)),
        Message(role="tool", name="find_order", content=error),
        Message(role="assistant", calls=(GOOD,)),
        Message(role="tool", name="find_order", content='{"error": "NOT_FOUND"}'),
        Message(role="assistant", content="There is none."),
    )
    sequence = demonstrate(renderer, "", tools, conversation)
    assert demonstrated(renderer, sequence) == [format_calls((GOOD,)), "There is none."]
    assert format_calls((BAD,)) in renderer.decode(sequence.ids)


def test_a_call_that_a_real_tool_refused_in_a_similar_form_is_imitated(
    renderer: ChatML, tools: tuple[Tool, ...]
) -> None:
    error = '{"error": {"code": 404, "message": "gone", "details": []}}'
    conversation = (
        Message(role="assistant", calls=(GOOD,)),
        Message(role="tool", name="find_order", content=error),
    )
    sequence = demonstrate(renderer, "", tools, conversation)
    assert demonstrated(renderer, sequence) == [format_calls((GOOD,))]


def test_a_call_that_the_checks_would_refuse_is_not_imitated_whoever_refused_it(
    renderer: ChatML, tools: tuple[Tool, ...]
) -> None:
    conversation = (
        Message(role="assistant", calls=(Call(name="fly", arguments={}),)),
        Message(role="tool", name="fly", content='{"error": {"code": "NO_SUCH_TOOL"}}'),
        Message(role="assistant", calls=(BAD,)),
        Message(role="tool", name="find_order", content='{"error": {"code": "BAD_ORDER"}}'),
    )
    assert demonstrated(renderer, demonstrate(renderer, "", tools, conversation)) == []


def test_a_demonstration_is_what_acting_would_have_produced(renderer: ChatML, act: Act) -> None:
    _, acted = act("Hi.")
    shown = demonstrate(renderer, "Be kind.", (), (Message(role="assistant", content="Hi."),))
    assert (shown.ids, shown.trained) == (acted.ids, acted.trained)
