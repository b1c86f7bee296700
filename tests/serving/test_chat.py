import asyncio
from collections.abc import Sequence
from dataclasses import replace

from envace.episode import Call, Message, Observation, Tool
from envace.rollout.agent import Agent
from envace.serving.chat import Setting, chat


class Orders:
    """An environment in which every order is shipped."""

    async def respond(self, call: Call, conversation: tuple[Message, ...]) -> Observation:
        return Observation({"order_id": call.arguments["order_id"], "status": "shipped"})


def converse(agent: Agent, tools: tuple[Tool, ...], lines: Sequence[str], attempts: int = 0):
    shown: list[tuple[str, str]] = []
    feed = iter(lines)
    setting = Setting("Be kind.", tools, Orders(), attempts)
    messages = asyncio.run(
        chat(agent, setting, lambda: next(feed, None), lambda who, text: shown.append((who, text)))
    )
    return messages, shown


def test_a_line_is_answered(agent):
    messages, shown = converse(agent, (), ["hello"])
    assert [message.role for message in messages] == ["user", "assistant"]
    assert shown == [("agent", "hello")]


def test_the_environment_answers_a_call_and_the_agent_goes_on(agent, find):
    messages, shown = converse(agent, (find,), ["where is order 7?"])
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert shown == [
        ("call", 'find_order {"order_id": "7"}'),
        ("result", '{"order_id": "7", "status": "shipped"}'),
        ("agent", '{"order_id": "7", "status": "shipped"}'),
    ]


def test_a_call_of_an_unknown_tool_never_reaches_the_environment(agent, find):
    _, shown = converse(agent, (find,), ["fly away"])
    assert "TOOL_NOT_AVAILABLE" in shown[1][1]


def test_the_memory_of_private_rehearsal_is_shown_and_used(agent):
    _, shown = converse(agent, (), ["hello"], attempts=2)
    assert shown[0][0] == "memory"
    assert "2 of 2 rehearsals went this way" in shown[0][1]
    assert shown[0][1] in shown[1][1]


def test_a_line_whose_answer_is_malformed_is_forgotten(agent):
    messages, shown = converse(agent, (), ["garble", "  ", "hello"])
    assert shown[0] == ("agent", "<tool_call>{")
    assert ("fault", "INVALID_TOOL_CALL_FORMAT") in shown
    assert [message.content for message in messages] == ["hello", "hello"]


def test_an_agent_that_never_replies_is_stopped(agent, find):
    hasty = replace(agent, rules=agent.rules.model_copy(update={"max_steps": 1}))
    messages, shown = converse(hasty, (find,), ["where is order 7?"])
    assert messages == ()
    assert shown[-1] == ("fault", "TOO_MANY_STEPS")
