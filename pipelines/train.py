"""Stage train: role-wise GRPO on the policy's own rehearsed responses."""

from envace.files import digest_of
from envace.grpo.update import learner_of
from envace.inference.chat import load_renderer
from envace.rehearsal.act import Actor
from envace.tasks.store import read_tasks
from envace.tracking.tracker import write_curve
from envace.training.checkpoint import Checkpoints
from envace.training.loop import Run, train
from pipelines import params, paths, policies, stage, tracked


def main() -> str:
    """Loads, trains, exports."""
    chosen, tasks = params.load(), read_tasks(paths.TRAIN)
    own, schedule = chosen.train, chosen.train.schedule
    policy, renderer = policies.policy(chosen, paths.WARMSTART), load_renderer(paths.WARMSTART)
    start = [digest_of(paths.WARMSTART), digest_of(paths.TRAIN)]
    engine, code = params.plain(chosen.policy.engine), stage.code_of("train")
    name = stage.fingerprint("train", chosen.seed, params.plain(own), engine, start, code)
    run = Run(
        policy=policy,
        actor=Actor(policy, renderer, own.budget),
        learner=learner_of(
            policy.model, schedule.learning_rate, own.update, own.budget.temperature
        ),
        estimate=own.advantage.build(),
        reward=own.reward.build(),
        rules=own.rules,
        schedule=schedule,
        limits=own.abort,
        checkpoints=Checkpoints(paths.CHECKPOINTS, name, schedule.checkpoint_every),
        seed=chosen.seed,
    )
    rows = tracked.follow("train", name, schedule.steps, train(run, tasks), "reward/mean")
    digest = policies.export(policy, paths.WARMSTART, paths.GRPO)
    write_curve(rows, paths.TRAIN_CURVE)
    run.checkpoints.clear()
    return f"policy {digest[:12]} → {paths.GRPO}"
