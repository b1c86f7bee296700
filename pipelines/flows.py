"""The `retrain` flow: when, where, with which retries the stages run.

One idea: dvc.yaml owns the order and DVC the bytes. A task runs one stage as `dvc repro` would and
hands on nothing but the stage's name; a stage that is current costs a second and changes nothing.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from prefect import Task, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.logging import get_run_logger

from envace.errors import EnvaceError
from pipelines.dag import stages

RETRIES = {"curate": 1, "register": 1, "evaluate": 1}
"""How often a stage is tried again. Only stages that reach for a source, the registry or a
benchmark are: training resumes from its checkpoint when a person has seen why it stopped."""


class StageError(EnvaceError, RuntimeError):
    """A stage ended badly."""


@flow(name="retrain", persist_result=False)
def retrain(workspace: str = ".") -> tuple[str, ...]:
    """Runs every stage of the checkout at `workspace` in the order of its dvc.yaml."""
    order = stages(Path(workspace, "dvc.yaml"))
    return tuple(stage_task(stage)(stage, workspace) for stage in order)


def stage_task(stage: str) -> Task[[str, str], str]:
    """The task that runs `stage`, with the retries that are safe for it."""
    return run_stage.with_options(
        name=stage, task_run_name=stage, retries=RETRIES.get(stage, 0), retry_delay_seconds=10
    )


@task(persist_result=False, cache_policy=NO_CACHE)
def run_stage(stage: str, workspace: str) -> str:
    """`dvc repro` of this one stage; its output goes to the run's log. Returns its name."""
    log = get_run_logger()
    command = [sys.executable, "-m", "dvc", "repro", "--single-item", stage]
    with subprocess.Popen(
        command,
        cwd=workspace,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None, "it was asked for"
        try:
            for line in process.stdout:
                log.info("%s", line.rstrip())
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)  # a cancelled run leaves no stage behind
            raise
    if process.returncode:
        raise StageError(
            f"stage '{stage}' ended with {process.returncode}; read its log, "
            f"then run 'dvc repro {stage}' in the checkout."
        )
    return stage


def _environment() -> dict[str, str]:
    """Ours, with this interpreter's commands first: a stage runs in the flow's environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path}
