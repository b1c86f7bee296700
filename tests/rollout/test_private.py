import asyncio
from dataclasses import fields
from typing import get_type_hints

from envace.episode import Call, Message
from envace.inference.policy import Completion, Request
from envace.rehearsal.act import Actor, Budget
from envace.rehearsal.protocol import format_calls, format_result
from envace.rollout import private
from envace.rollout.play import Rules
from envace.rollout.private import Memory, Rehearsal
from envace.strict_json import dumps, loads
from tests.fixtures.speech import EIGHT, FIND, REHEARSING, RENDERER, SEVEN

ASKED = (Message(role="user", content="Where is order 7?"),)
UNKNOWN = Call(name="fly", arguments={})


class Attempts:
    """A policy whose attempts, told apart by their seeds, follow one plan each, then reply."""

    version = "attempts"

    def __init__(self, *plans: str) -> None:
        self.plans = plans
        self.requests: list[Request] = []

    async def sample(self, request: Request) -> Completion:
        prompt = RENDERER.decode(request.prompt)
        self.requests.append(request)
        if REHEARSING in prompt:
            text = format_result({"status": "sent"})
        elif prompt.endswith("7?<|im_end|>\n<|im_start|>assistant\n"):
            text = self.plans[len(self.openings) - 1]
        else:
            text = "Done."
        ids = (*RENDERER.encode(text), RENDERER.stop)
        return Completion(ids, (0.0,) * len(ids), "stop")

    @property
    def openings(self) -> list[Request]:
        """What each attempt was first asked."""
        shortest = min(len(request.prompt) for request in self.requests)
        return [request for request in self.requests if len(request.prompt) == shortest]


def rehearse(policy: Attempts, seed: int = 0, attempts: int | None = None) -> Memory:
    actor = Actor(policy, RENDERER, Budget())
    count = len(policy.plans) if attempts is None else attempts
    rehearsal = Rehearsal(actor, Rules(), "", (FIND,), count, seed)
    return asyncio.run(rehearsal.memory(ASKED))


def test_the_plan_that_most_attempts_share_is_recommended() -> None:
    seven, eight = format_calls((SEVEN,)), format_calls((EIGHT,))
    memory = rehearse(Attempts(eight, seven, seven))
    assert loads(memory.text) == {
        "recommendation": seven,
        "rationale": "2 of 3 rehearsals went this way",
    }


def test_the_first_plan_wins_a_tie() -> None:
    eight = format_calls((EIGHT,))
    text = rehearse(Attempts(eight, format_calls((SEVEN,)))).text
    assert loads(text) == {
        "recommendation": eight,
        "rationale": "1 of 2 rehearsals went this way",
    }


def test_a_plan_without_calls_is_to_reply() -> None:
    text = rehearse(Attempts("I do not know.", "No.")).text
    assert '"recommendation": "reply without a call"' in text


def test_refused_calls_are_no_part_of_a_plan() -> None:
    text = rehearse(Attempts(format_calls((UNKNOWN, SEVEN)))).text
    assert f'"recommendation": {dumps(format_calls((SEVEN,)))}' in text


def test_faulty_attempts_have_no_vote() -> None:
    text = rehearse(Attempts("<tool_call>", "<tool_call>", format_calls((SEVEN,)))).text
    assert "1 of 3 rehearsals went this way" in text


def test_attempts_that_all_fail_leave_an_empty_memory_and_their_cost() -> None:
    memory = rehearse(Attempts("<tool_call>", "<tool_call>"))
    assert (memory.text, len(memory.attempts)) == ("", 2)
    assert memory.tokens == 2 * len("<tool_call>") + 2


def test_no_attempt_asks_nobody() -> None:
    policy = Attempts()
    assert rehearse(policy, attempts=0) == Memory()
    assert policy.requests == []


def test_an_attempt_is_kept_from_the_last_user_message_on() -> None:
    (attempt,) = rehearse(Attempts(format_calls((SEVEN,)))).attempts
    assert [message.role for message in attempt] == ["user", "assistant", "tool", "assistant"]
    assert attempt[2].content == '{"status": "sent"}'


def test_the_tokens_of_both_roles_are_counted() -> None:
    call, result = format_calls((SEVEN,)), format_result({"status": "sent"})
    memory = rehearse(Attempts(call))
    assert memory.tokens == sum(len(text) + 1 for text in (call, result, "Done."))


def test_each_attempt_has_its_own_seed_and_always_the_same() -> None:
    first, again, other = Attempts("a", "b"), Attempts("a", "b"), Attempts("a", "b")
    rehearse(first, seed=1)
    rehearse(again, seed=1)
    rehearse(other, seed=2)
    seeds = [request.seed for request in first.requests]
    assert len(set(seeds)) == 2
    assert seeds == [request.seed for request in again.requests]
    assert not set(seeds) & {request.seed for request in other.requests}


def test_nothing_in_private_rehearsal_can_hold_an_environment() -> None:
    held = get_type_hints(Rehearsal)
    assert {field.name for field in fields(Rehearsal)} == set(held)
    assert not [name for name, kind in held.items() if hasattr(kind, "respond")]
    assert not {"Environment", "WorldEnvironment"} & set(vars(private))


def test_attempts_are_sampled_warm_however_cool_the_committed_episode_is() -> None:
    policy = Attempts("Done.")
    actor = Actor(policy, RENDERER, Budget(temperature=0, private_temperature=0.9))
    asyncio.run(Rehearsal(actor, Rules(), "", (FIND,), 1, 0).memory(ASKED))
    assert {request.temperature for request in policy.requests} == {0.9}
