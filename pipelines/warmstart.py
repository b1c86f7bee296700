"""Stage warmstart: the base policy imitates the recordings in both roles."""

from envace.files import digest_of
from envace.grpo.update import learner_of
from envace.inference.chat import load_renderer
from envace.tasks.store import read_tasks
from envace.tracking.tracker import write_curve
from envace.training.checkpoint import Checkpoints
from envace.training.warmstart import demonstrate, warm_start
from pipelines import params, paths, policies, stage, tracked
from pipelines.settings import Settings


def main() -> str:
    """Loads, imitates, exports."""
    chosen, settings = params.load(), Settings.load()
    tasks, schedule = read_tasks(paths.TRAIN), chosen.warmstart.schedule
    folder = policies.base(chosen, settings, tasks)
    policy, renderer = policies.policy(chosen, folder), load_renderer(folder)
    learner = learner_of(policy.model, schedule.learning_rate, chosen.warmstart.update)
    seed = chosen.seed
    imitated = [demonstrate(renderer, task, schedule, seed) for task in tasks]
    own, code = params.plain(chosen.warmstart), stage.code_of("warmstart")
    start = [params.plain(chosen.policy), digest_of(paths.TRAIN)]
    run = stage.fingerprint("warmstart", seed, own, start, code)
    checkpoints = Checkpoints(paths.CHECKPOINTS, run, schedule.checkpoint_every)
    stream = warm_start(learner, imitated, schedule, checkpoints, seed)
    rows = tracked.follow("warmstart", run, schedule.steps, stream, "warmstart/loss")
    digest = policies.export(policy, folder, paths.WARMSTART)
    write_curve(rows, paths.WARMSTART_CURVE)
    checkpoints.clear()
    return f"policy {digest[:12]} → {paths.WARMSTART}"
