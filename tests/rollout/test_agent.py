import asyncio

from envace.episode import Message
from envace.rehearsal.protocol import format_calls, format_result
from envace.rollout.agent import Agent
from envace.rollout.play import Rules
from tests.fixtures.speech import FIND, REHEARSING, SEVEN, following

CALL = format_calls((SEVEN,))
ANSWERED = (
    Message(role="user", content="Hello."),
    Message(role="assistant", content="Hi."),
    Message(role="user", content="Where is order 7?"),
    Message(role="assistant", calls=(SEVEN,)),
    Message(role="tool", name="find_order", content='{"status": "sent"}'),
)


def agent(asked: list[str]) -> Agent:
    """It calls first, replies once it has been answered, and keeps what it was asked."""

    def script(prompt: str) -> str:
        asked.append(prompt)
        if REHEARSING in prompt:
            return format_result({"status": "lost"})
        last = prompt.split("<|im_start|>")[-2]
        return "Order 7 is sent." if last.startswith("tool\n") else CALL

    return Agent(following(script), Rules())


def test_an_agent_answers_the_next_step() -> None:
    turn = asyncio.run(agent([]).act("", (FIND,), ANSWERED[:3]))
    assert turn.calls == (SEVEN,)
    turn = asyncio.run(agent([]).act("", (FIND,), ANSWERED))
    assert (turn.calls, turn.reply) == ((), "Order 7 is sent.")


def test_the_memory_stands_right_after_the_last_user_message() -> None:
    asked: list[str] = []
    asyncio.run(agent(asked).act("", (FIND,), ANSWERED, memory="Look it up."))
    messages = asked[0].split("<|im_start|>")
    roles = [message.partition("\n")[0] for message in messages[1:]]
    assert roles == [
        *("system", "user", "assistant", "user"),
        *("system", "assistant", "tool", "assistant"),
    ]
    assert "Look it up." in messages[5]


def test_private_rehearsal_plays_the_last_user_message_anew() -> None:
    asked: list[str] = []
    memory = asyncio.run(agent(asked).rehearse("", (FIND,), ANSWERED, attempts=2))
    assert "2 of 2 rehearsals" in memory.text
    assert [attempt[0].content for attempt in memory.attempts] == ["Where is order 7?"] * 2
    assert [attempt[2].content for attempt in memory.attempts] == ['{"status": "lost"}'] * 2
    assert not any('{"status": "sent"}' in prompt for prompt in asked)


def test_the_same_question_is_rehearsed_alike_wherever_the_conversation_stands() -> None:
    before = asyncio.run(agent([]).rehearse("", (FIND,), ANSWERED[:3], attempts=1))
    after = asyncio.run(agent([]).rehearse("", (FIND,), ANSWERED, attempts=1))
    assert before == after
