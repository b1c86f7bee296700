import asyncio
from collections.abc import Callable, Iterable

import pytest

from envace.episode import Call, Episode, Fault, Message, Source
from envace.rehearsal.protocol import format_calls, format_result
from envace.rehearsal.rehearse import RehearsedEnvironment
from envace.rollout.play import Opening, Rounds, Rules, Stage, always, play
from tests.fixtures.speech import EIGHT, FIND, RENDERER, SEVEN, Orders, speaking

BAD = Call(name="find_order", arguments={})
UNKNOWN = Call(name="fly", arguments={})
Play = Callable[..., Episode]


def said(*calls: Call) -> str:
    return format_calls(calls)


def is_first(rounds: Rounds) -> bool:
    return len(rounds) == 1


@pytest.fixture
def orders() -> Orders:
    return Orders()


@pytest.fixture
def play_in(orders: Orders) -> Play:
    """Plays these lines against the orders, or against rehearsed ones."""

    def played(
        lines: Iterable[str],
        users: tuple[str, ...] = ("Hello.",),
        rehearsed: bool = False,
        goes_on: Callable[[Rounds], bool] = always,
        tokens: int = 20_000,
        **rules: int | str,
    ) -> Episode:
        actor = speaking(lines, sequence_tokens=tokens)
        stage = Stage(actor, Rules.model_validate(rules), goes_on)
        rehearsing = RehearsedEnvironment(actor.policy, actor.renderer, actor.budget, (FIND,))
        environment = rehearsing if rehearsed else orders
        return asyncio.run(play(Opening("t", "", (FIND,), users), stage, environment, 0))

    return played


def test_a_reply_ends_the_round(play_in: Play, orders: Orders) -> None:
    episode = play_in(["Hi.", "never said"])
    assert [len(steps) for steps in episode.rounds] == [1]
    assert episode.messages == (
        Message(role="user", content="Hello."),
        Message(role="assistant", content="Hi."),
    )
    assert (episode.fault, orders.asked) == (None, [])


def test_a_call_is_answered_and_the_policy_goes_on(play_in: Play, orders: Orders) -> None:
    episode = play_in([said(SEVEN), "It is sent."])
    assert [call for call, _ in orders.asked] == [SEVEN]
    assert episode.messages[2].content == '{"order": 7, "status": "sent"}'
    assert episode.messages[3].content == "It is sent."
    assert episode.sequence.outputs == 2


def test_a_text_beside_a_call_does_not_end_the_round(play_in: Play) -> None:
    episode = play_in([f"One moment. {said(SEVEN)}", "Sent."])
    assert episode.messages[1] == Message(role="assistant", content="One moment.", calls=(SEVEN,))
    assert len(episode.rounds[0]) == 2


def test_the_next_user_message_follows_only_if_the_episode_goes_on(play_in: Play) -> None:
    lines = ["One.", "Two.", "Three."]
    episode = play_in(lines, users=("a", "b", "c"), goes_on=is_first)
    assert len(episode.rounds) == 2
    assert [m.content for m in episode.messages] == ["a", "One.", "b", "Two."]
    assert episode.fault is None


def test_a_fault_ends_the_episode(play_in: Play) -> None:
    episode = play_in(["<tool_call>{", "never said"], users=("a", "b"))
    assert episode.fault is Fault.INVALID_TOOL_CALL_FORMAT
    assert [len(steps) for steps in episode.rounds] == [1]
    assert episode.messages[1].content == "<tool_call>{"


def test_a_fault_may_be_told_instead(play_in: Play) -> None:
    episode = play_in(["<tool_call>{", "Sorry."], on_fault="tell")
    assert episode.fault is None
    told = episode.messages[2]
    assert (told.role, '"code": "INVALID_TOOL_CALL_FORMAT"' in told.content) == ("tool", True)
    assert episode.messages[3].content == "Sorry."


def test_a_policy_that_never_replies_is_stopped(play_in: Play, orders: Orders) -> None:
    episode = play_in([said(SEVEN)] * 3, users=("a", "b"), max_steps=3)
    assert episode.fault is Fault.TOO_MANY_STEPS
    assert (len(orders.asked), len(episode.rounds)) == (3, 1)


@pytest.mark.parametrize("on_fault", ["end", "tell"])
def test_a_full_sequence_ends_the_episode_however_faults_are_met(
    play_in: Play, on_fault: str
) -> None:
    full = len(play_in([said(SEVEN)], max_steps=1).sequence.ids)
    episode = play_in([said(SEVEN), "never said"], tokens=full, on_fault=on_fault)
    assert episode.fault is Fault.TOO_LONG
    assert [step.act.fault for step in episode.rounds[0]] == [None, Fault.TOO_LONG]


def test_too_many_calls_at_once_are_all_refused(play_in: Play, orders: Orders) -> None:
    episode = play_in([said(SEVEN, EIGHT, SEVEN), "Sorry."], max_calls=2)
    codes = [seen.code for seen in episode.rounds[0][0].observations]
    assert codes == ["INVALID_TOOL_CALL_FORMAT"] * 3
    assert orders.asked == []
    assert "at most 2 calls at once" in episode.messages[2].content


@pytest.mark.parametrize(
    ("call", "code"), [(UNKNOWN, "TOOL_NOT_AVAILABLE"), (BAD, "INVALID_PARAMETERS")]
)
def test_a_refused_call_never_reaches_the_environment(
    play_in: Play, orders: Orders, call: Call, code: str
) -> None:
    episode = play_in([said(call, SEVEN), "Sorry."])
    assert [call for call, _ in orders.asked] == [SEVEN]
    assert [seen.code for seen in episode.rounds[0][0].observations] == [code, None]
    assert episode.fault is None


def test_parallel_calls_see_the_answers_before_them(play_in: Play, orders: Orders) -> None:
    play_in([said(SEVEN, EIGHT), "Both are sent."])
    (_, before_first), (_, before_second) = orders.asked
    assert before_first[-1] == Message(role="assistant", calls=(SEVEN, EIGHT))
    answer = Message(role="tool", name="find_order", content='{"order": 7, "status": "sent"}')
    assert before_second == (*before_first, answer)


def test_a_rehearsed_response_is_a_turn_of_its_own(play_in: Play) -> None:
    lines = [said(SEVEN), format_result({"status": "lost"}), "It is lost."]
    episode = play_in(lines, rehearsed=True)
    assert [turn.role for turn in episode.turns] == ["act", "rehearse", "act"]
    assert episode.messages[2].content == '{"status": "lost"}'
    assert [sequence.role for sequence in episode.sequences] == ["act", "rehearse"]


def test_a_rehearsed_fault_ends_the_episode(play_in: Play) -> None:
    episode = play_in([said(SEVEN), "no tag", "never said"], users=("a", "b"), rehearsed=True)
    assert episode.fault is Fault.NO_TAG
    assert [len(steps) for steps in episode.rounds] == [1]


def test_a_rehearsed_fault_may_be_told_instead(play_in: Play) -> None:
    lines = [said(SEVEN), "no tag", "I could not find it."]
    episode = play_in(lines, rehearsed=True, on_fault="tell")
    assert episode.fault is None
    assert episode.messages[2].content == '{"error": {"code": "NO_TAG", "message": "no response"}}'


def test_the_trained_ids_are_the_sampled_ones_in_their_order(play_in: Play) -> None:
    lines = [said(SEVEN, EIGHT), "Sent."]
    sequence = play_in(lines).sequence
    sampled = [span.ids for span in sequence.spans if span.source is Source.SAMPLED]
    assert sampled == [(*RENDERER.encode(line), RENDERER.stop) for line in lines]
    ids = [token for token, mine in zip(sequence.ids, sequence.trained, strict=True) if mine]
    assert ids == [token for span in sampled for token in span]


def test_what_tools_said_is_never_trained(play_in: Play) -> None:
    sequence = play_in([said(SEVEN), "Sent."]).sequence
    (heard,) = [span for span in sequence.spans if span.source is Source.TOOL]
    assert heard.ids
    assert sequence.outputs == 2


def test_each_user_message_is_heard_with_the_memory_of_its_rehearsals(orders: Orders) -> None:
    actor = speaking(["One.", "Two."])
    asked: list[int] = []

    async def memory(messages: tuple[Message, ...]) -> str:
        asked.append(len(messages))
        return f"after {len(messages)}"

    stage = Stage(actor, Rules(), memory=memory)
    episode = asyncio.run(play(Opening("t", "", (FIND,), ("a", "b")), stage, orders, 0))
    text = actor.renderer.decode(episode.sequence.ids)
    assert asked == [1, 3]
    assert text.index("after 1") < text.index("One.") < text.index("after 3") < text.index("Two.")
    assert all("after" not in message.content for message in episode.messages)
