import functools
from collections.abc import Callable

from envace.benchmarks.benchmark import Candidate, Recordings
from envace.benchmarks.report import Report
from envace.benchmarks.suites.worlds import Config, Worlds, build
from envace.errors import PolicyError
from envace.inference.backends.scripted import ScriptedPolicy
from envace.plugins import choose
from envace.rehearsal.act import hear, opening, written
from envace.rehearsal.protocol import format_result
from envace.worlds.world import HELD_OUT_SEED, TIERS, World, solve
from tests.fixtures.speech import REHEARSING, RENDERER

DOMAINS = ("calendar", "retail", "airline")
SCENARIOS = 2
MEMORY = "You rehearsed this in private."


def suite(**fields: object) -> Worlds:
    config = Config.model_validate({"scenarios": SCENARIOS, **fields})
    return build(config, Recordings((), ()), seed=0)


@functools.cache
def solutions() -> dict[str, str]:
    """For each prompt of the ACT role on the way of the solver: what the solver writes next."""
    found: dict[str, str] = {}
    for domain in DOMAINS:
        world: World = choose("envace.worlds", domain).build()
        for tier in TIERS:
            for seed in range(HELD_OUT_SEED, HELD_OUT_SEED + SCENARIOS):
                context = opening(RENDERER, world.system, world.tools)
                for message in solve(world, world.scenario(seed, tier)):
                    if message.role == "assistant":
                        prompt = RENDERER.decode(context.extend(RENDERER.cue()).ids)
                        found[prompt] = written(message)
                    context = hear(RENDERER, context, message)
    return found


def oracle(prompt: str) -> str:
    """Does what the solver does, whatever it rehearsed before."""
    if REHEARSING in prompt:
        return format_result({"status": "rehearsed"})
    messages = prompt.split("<|im_start|>")
    plain = "<|im_start|>".join(message for message in messages if MEMORY not in message)
    return solutions().get(plain, "Done.")


def candidate(script: Callable[[str], str]) -> Candidate:
    return Candidate(ScriptedPolicy(RENDERER, script), RENDERER, "scripted", "0" * 64)


def run(
    script: Callable[[str], str], thorough: bool = True, **fields: object
) -> tuple[Report, ...]:
    return suite(**fields).run(candidate(script), thorough, lambda: None)


def test_an_oracle_solves_every_scenario_with_and_without_rehearsal() -> None:
    at_once, rehearsed = run(oracle)
    assert (at_once.mode, at_once.success, at_once.complete) == ("N=0", 1.0, True)
    assert (rehearsed.mode, rehearsed.success, rehearsed.complete) == ("N=2", 1.0, True)
    assert not any(trial.memory for trial in at_once.trials)
    assert all(trial.memory for trial in rehearsed.trials)
    assert sum(t.tokens for t in rehearsed.trials) > sum(t.tokens for t in at_once.trials)


def test_a_policy_that_does_nothing_solves_nothing() -> None:
    (report,) = run(lambda _: "I do not know.", thorough=False)
    assert (report.success, report.complete) == (0.0, True)
    assert all(trial.why and trial.status == "fail" for trial in report.trials)


def test_a_policy_that_writes_nonsense_fails_with_its_fault() -> None:
    (report,) = run(lambda _: "<tool_call>", thorough=False, scenarios=1)
    assert {trial.why.partition(":")[0] for trial in report.trials} == {"INVALID_TOOL_CALL_FORMAT"}


def test_the_size_is_the_number_of_trials() -> None:
    done: list[None] = []
    small = suite(scenarios=1, tiers=("one_call",))
    reports = small.run(candidate(oracle), True, lambda: done.append(None))
    assert small.size(thorough=True) == len(done) == sum(len(r.trials) for r in reports) == 6
    assert small.size(thorough=False) == 3


def test_all_scenarios_are_held_out_and_named_by_domain_and_tier() -> None:
    (report,) = run(oracle, thorough=False)
    assert all(int(trial.item.split("/")[-1]) >= HELD_OUT_SEED for trial in report.trials)
    slices = {f"{domain}/{tier}" for domain in DOMAINS for tier in TIERS}
    assert {trial.slice for trial in report.trials} == slices


def test_what_is_only_rehearsed_changes_no_world() -> None:
    def all_talk(prompt: str) -> str:
        return "Done." if MEMORY in prompt else oracle(prompt)

    (report,) = run(all_talk, tiers=("one_call",), attempts=(2,))
    assert all('"recommendation": "<tool_call>' in trial.memory for trial in report.trials)
    assert not any(message.calls for trial in report.trials for message in trial.messages)
    assert report.success == 0
    assert any(trial.why.startswith("the final state of ") for trial in report.trials)


def test_a_faulty_output_is_no_reply_whatever_it_says() -> None:
    def cut_short(prompt: str) -> str:
        return oracle(prompt) + " And so on" * 50

    (report,) = run(cut_short, thorough=False, tiers=("one_call",), budget={"act_tokens": 200})
    assert report.success == 0
    assert all(trial.why.startswith("TRUNCATED: ") for trial in report.trials)


def test_an_engine_that_cannot_answer_is_not_scored() -> None:
    def dead(prompt: str) -> str:
        raise PolicyError("the engine is away")

    (report,) = run(dead, thorough=False, tiers=("one_call",))
    assert (len(report.scored), report.complete) == (0, False)
    assert {(trial.status, trial.why) for trial in report.trials} == {
        ("infra", "the engine is away")
    }


def test_fewer_scenarios_may_be_rehearsed() -> None:
    few = suite(scenarios=2, rehearsed_scenarios=1, tiers=("one_call",))
    at_once, rehearsed = few.run(candidate(oracle), True, lambda: None)
    assert (at_once.n_expected, rehearsed.n_expected, few.size(thorough=True)) == (6, 3, 9)
    assert {trial.item for trial in rehearsed.trials} < {trial.item for trial in at_once.trials}
