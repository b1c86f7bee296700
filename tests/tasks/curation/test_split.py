import pytest

from envace.episode import Tool
from envace.tasks.curation.split import Split, definition, fraction, name_key

IDS = [f"family-{number}" for number in range(1_000)]
SCHEMA = {"type": "object", "properties": {}}


def split(share=0.5, held_out=(), salt="s"):
    return Split(frozenset(held_out), share, salt)


@pytest.fixture
def calling(make_task):
    """A task that offers `names` and calls the first `calls` of them, each once."""

    def build(names, calls=1, **changes):
        called = [{"name": name, "arguments": {}} for name in names[:calls]]
        steps = [
            message
            for call in called
            for message in (
                {"role": "assistant", "calls": [call]},
                {"role": "tool", "name": call["name"], "content": "{}"},
            )
        ]
        return make_task(
            tools=[{"name": name, "parameters": SCHEMA} for name in names],
            conversation=[
                {"role": "user", "content": "Please."}, *steps,
                {"role": "assistant", "content": "Done."},
            ],
            checklists=(),
            **changes,
        )  # fmt: skip

    return build


def test_the_share_is_met_within_chance():
    held_out = sum(fraction(name, "s") < 0.2 for name in IDS)
    assert 162 <= held_out <= 238  # 200 ± 3 standard deviations of 12.6


def test_a_fraction_is_known_in_advance():
    # `printf 's\0task-0' | sha256sum` begins with a5, so 165/256 = 0.64; task-1: 29, so 0.16.
    assert 165 / 256 <= fraction("task-0", "s") < 166 / 256
    assert 41 / 256 <= fraction("task-1", "s") < 42 / 256


def test_a_larger_share_only_adds_to_the_held_out(make_task):
    def held_out(share):
        tasks = (make_task(family=name) for name in IDS[:200])
        return {t.family for t in tasks if split(share).place(t).held_out}

    assert held_out(0.0) == set() < held_out(0.1) < held_out(0.3)


def test_a_family_is_on_one_side_as_a_whole(make_task):
    tasks = [make_task(id=f"t{n}", family="task-1") for n in range(9)]
    assert {split().place(task).held_out for task in tasks} == {True}
    assert {split(0.1).place(task).held_out for task in tasks} == {False}
    assert split(0.1, ["task-1"]).place(tasks[0]).held_out


def test_a_share_may_be_given_for_each_source(make_task):
    shares = split({"logs": 0.5})
    assert shares.place(make_task(family="task-1", source="logs")).held_out
    assert not shares.place(make_task(family="task-1", source="other")).held_out


def test_tools_without_a_family_take_their_task_to_their_side(calling):
    # At salt `s` task-1 is below a half and task-0 is not.
    held, trained = split().place(calling(["task-1"])), split().place(calling(["task-0"]))
    assert (held.held_out, trained.held_out) == (True, False)


def test_a_candidate_of_the_other_side_is_taken_away(calling):
    placed = split().place(calling(["task-1", "task-0"]))
    assert placed.held_out
    assert [tool.name for tool in placed.task.tools] == ["task-1"]


def test_a_task_that_calls_tools_of_both_sides_is_refused(calling):
    reason = split().place(calling(["task-1", "task-0"], calls=2))
    assert reason == "mixed_families: 'task-0' and 'task-1' are on two sides of the split"


def test_one_tool_decides_for_a_task_that_calls_none(calling):
    places = [split(0.2).place(calling([f"a{n}", f"b{n}"], calls=0)) for n in range(500)]
    assert 73 <= sum(placed.held_out for placed in places) <= 127  # 100 ± 3 × 8.9
    assert all(placed.task.tools for placed in places)


def test_tools_are_one_when_their_definitions_are():
    tool = Tool(name="a", description="b", parameters={"type": "object", "title": "c"})
    same = Tool(name="a", description="b", parameters={"title": "c", "type": "object"})
    assert definition(tool) == definition(same)
    assert definition(tool) != definition(tool.model_copy(update={"description": "x"}))
    assert name_key(tool) == name_key(tool.model_copy(update={"description": "x"}))
