import asyncio

from envace.episode import Episode, Group, Message
from envace.rehearsal.act import Actor
from envace.rehearsal.protocol import format_calls, format_result
from envace.rewards.checklist import Checklist
from envace.rewards.reward import Missing
from envace.rollout.group import play_groups
from envace.rollout.play import Rules
from envace.tasks.task import CallMade, ChecklistItem, ReplyHas, Task
from tests.fixtures.speech import FIND, REHEARSING, SEVEN, following


def item(name: str, check: CallMade | ReplyHas | None, required: bool = False) -> ChecklistItem:
    return ChecklistItem(
        id=name,
        question="?",
        focus_on="assistant.tool_calls",
        pass_condition="",
        weight=1,
        required_for_next_turn=required,
        check=check,
    )


def task(name: str, first: CallMade | ReplyHas | None) -> Task:
    """Two user messages; the first turn must pass its one item before the second follows."""
    return Task(
        id=name,
        source="test",
        domain="orders",
        tier="two",
        system="",
        tools=(FIND,),
        conversation=(
            Message(role="user", content="Where is order 7?"),
            Message(role="assistant", calls=(SEVEN,)),
            Message(role="tool", name="find_order", content='{"status": "recorded"}'),
            Message(role="assistant", content="Sent."),
            Message(role="user", content="Thanks."),
            Message(role="assistant", content="Bye."),
        ),
        checklists=((item("1", first, True),), (item("2", ReplyHas(any_of=("bye",))),)),
    )


def actor(asked: list[str]) -> Actor:
    def script(prompt: str) -> str:
        asked.append(prompt)
        if REHEARSING in prompt:
            return format_result({"status": "sent"})
        last = prompt.split("<|im_start|>")[-2]
        if last.startswith("tool\n"):
            return "Sent."
        return "Bye." if "Thanks." in last else format_calls((SEVEN,))

    return following(script)


def groups(*tasks: Task, asked: list[str] | None = None) -> tuple[Group, ...]:
    playing = actor([] if asked is None else asked)
    return asyncio.run(play_groups(tasks, 3, playing, Rules(), Checklist(), seed=0))


MADE = CallMade(name="find_order", arguments={"order": 7})
NEVER = CallMade(name="find_order", arguments={"order": 8})


def test_each_task_has_its_group_of_scored_episodes() -> None:
    whole, half = groups(task("a", MADE), task("b", NEVER))
    assert (whole.task_id, whole.rewards) == ("a", (1.0, 1.0, 1.0))
    assert (half.task_id, half.rewards) == ("b", (0.0, 0.0, 0.0))


def test_the_second_user_message_follows_only_a_passed_turn() -> None:
    whole, half = groups(task("a", MADE), task("b", NEVER))
    assert [len(episode.rounds) for episode in (whole.episodes[0], half.episodes[0])] == [2, 1]


def test_a_missing_reward_is_none_and_not_zero() -> None:
    (group,) = groups(task("a", None))
    assert group.rewards == (None, None, None)


def test_calls_are_rehearsed_with_the_recording_as_example() -> None:
    asked: list[str] = []
    (group,) = groups(task("a", MADE), asked=asked)
    rehearsed = [prompt for prompt in asked if REHEARSING in prompt]
    assert len(rehearsed) == 3
    assert all('-> {"status": "recorded"}' in prompt for prompt in rehearsed)
    assert group.episodes[0].messages[2].content == '{"status": "sent"}'


def test_a_judge_that_is_down_leaves_the_others_scored() -> None:
    class Moody(Checklist):
        async def score(self, task: Task, episode: Episode):
            return Missing("down") if task.id == "a" else await super().score(task, episode)

    tasks = (task("a", MADE), task("b", MADE))
    first, second = asyncio.run(play_groups(tasks, 1, actor([]), Rules(), Moody(), seed=0))
    assert (first.rewards, second.rewards) == ((None,), (1.0,))
