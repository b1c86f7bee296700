import functools
from collections.abc import Callable

import pytest
from pydantic import JsonValue

from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.report import Report
from envace.benchmarks.suites.fidelity import Config, agreement, build
from envace.episode import Call, Message
from envace.errors import BenchmarkError
from envace.inference.backends.scripted import ScriptedPolicy
from envace.rehearsal.act import Budget
from envace.rehearsal.rehearse import demonstrate
from envace.tasks.source import read_all
from envace.tasks.sources import worlds
from envace.tasks.task import Task
from tests.fixtures.speech import RENDERER


@functools.cache
def tasks() -> tuple[Task, ...]:
    """Recordings, in each of which a bad call was refused by a check and repaired."""
    config = worlds.Config(domains=("retail",), conversations=2, bad_call_share=1)
    return tuple(task for task in read_all(worlds.build(config, None)) if isinstance(task, Task))


@functools.cache
def recorded() -> dict[str, str]:
    """For each prompt of the REHEARSE role: the recorded result as an output."""
    shown = [
        sequence
        for task in tasks()
        for sequence in demonstrate(RENDERER, task.tools, task.conversation, show_recorded=False)
    ]
    return {
        RENDERER.decode(
            [token for span in sequence.spans[:-1] for token in span.ids]
        ): RENDERER.decode(sequence.spans[-1].ids)
        for sequence in shown
    }


def run(script: Callable[[str], str], **fields: object) -> Report:
    policy = ScriptedPolicy(RENDERER, script)
    suite = build(Config.model_validate(fields), Recordings((), tasks()), seed=0)
    done: list[None] = []
    (report,) = suite.run(
        Candidate(policy, RENDERER, "scripted", "0" * 64), False, lambda: done.append(None)
    )
    assert suite.size(thorough=True) == suite.size(thorough=False) == len(done)
    return report


def test_an_oracle_that_answers_what_was_recorded_agrees_everywhere() -> None:
    report = run(recorded().__getitem__)
    assert (report.success, report.complete) == (1.0, True)
    assert {trial.score for trial in report.trials} == {1.0}


def test_every_call_but_those_that_a_check_refused_is_rehearsed() -> None:
    made = sum(len(task.recorded_calls) for task in tasks())
    refused = sum(
        "INVALID_PARAMETERS" in text for task in tasks() for _, text in task.recorded_calls
    )
    assert refused > 0
    assert run(recorded().__getitem__).n_expected == made - refused


def test_a_call_that_the_checks_refuse_or_refused_is_not_rehearsed() -> None:
    task = tasks()[0]
    (good,) = next(m.calls for m in reversed(task.conversation) if m.calls)
    conversation = (
        Message(role="assistant", calls=(good, Call(name="fly", arguments={}))),
        Message(role="tool", name=good.name, content='{"error": {"code": "INVALID_PARAMETERS"}}'),
        Message(role="tool", name="fly", content='{"status": "gone"}'),
    )
    changed = task.model_copy(update={"conversation": conversation})
    with pytest.raises(BenchmarkError, match="no held-out recording has a call that training"):
        build(Config(), Recordings((), (changed,)), seed=0)


def test_a_call_that_training_has_seen_is_left_out() -> None:
    kept = build(Config(), Recordings(tasks()[:1], tasks()), seed=0).size(thorough=True)
    own = build(Config(), Recordings((), tasks()[:1]), seed=0).size(thorough=True)
    assert kept == build(Config(), Recordings((), tasks()), seed=0).size(thorough=True) - own
    with pytest.raises(BenchmarkError):
        build(Config(), Recordings(tasks(), tasks()), seed=0)


def test_a_report_is_called_greedy_only_when_it_is() -> None:
    budget = Budget(temperature=1, rehearse_tokens=200)
    assert run(recorded().__getitem__, calls=1, budget=budget).mode == "greedy"
    assert run(recorded().__getitem__, calls=1, temperature=0.5).mode == "T=0.5"


def test_the_calls_of_a_source_are_limited() -> None:
    assert run(recorded().__getitem__, calls=3).n_expected == 3


def test_a_malformed_response_agrees_in_nothing_and_says_why() -> None:
    report = run(lambda _: "no tag")
    assert (report.success, {trial.why for trial in report.trials}) == (0.0, {"NO_TAG"})


def test_a_trial_keeps_both_responses() -> None:
    trial = run(recorded().__getitem__, calls=1).trials[0]
    rehearsed, truth = trial.messages[-2:]
    assert rehearsed.content == truth.content
    assert truth.name == f"{rehearsed.name} (recorded)"


@pytest.mark.parametrize(
    ("recorded_result", "rehearsed", "expected"),
    [
        ({"a": 1, "b": "x"}, {"a": 1, "b": "x"}, 1.0),
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1, "c": 0}, 1.0),
        ({"a": 1, "b": "x", "c": [1]}, {"a": 1, "b": "y"}, 1 / 3),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, 0.0),
        ({"a": None}, {}, 0.0),
        ({"error": "X", "message": "m"}, {"error": "X", "message": "n"}, 0.5),
        ({"error": "X", "a": 1}, {"a": 1}, 0.0),
        ({"a": 1}, {"error": "X", "a": 1}, 0.0),
        ({}, {}, 1.0),
        ({}, {"a": 1}, 0.0),
        ([1, 2], [1, 2], 1.0),
        ([1, 2], [2, 1], 0.0),
        ([1], {"a": 1}, 0.0),
    ],
)
def test_agreement_is_the_share_of_recorded_fields(
    recorded_result: JsonValue, rehearsed: JsonValue, expected: float
) -> None:
    assert agreement(recorded_result, rehearsed) == pytest.approx(expected)


def test_calls_with_a_long_way_to_them_may_be_left_out() -> None:
    every = run(recorded().__getitem__).n_expected
    long = max(len(trial.messages) for trial in run(recorded().__getitem__).trials)
    tools = sum(len(tool.model_dump_json()) for tool in tasks()[0].tools)
    short = run(recorded().__getitem__, max_characters=tools + 300)
    assert 0 < short.n_expected < every
    assert max(len(trial.messages) for trial in short.trials) < long
