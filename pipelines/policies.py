"""The policies that the stages hand on, as model folders with a hash each."""

import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from envace.files import digest_of, sha256_of
from envace.inference.backends.hf import HfPolicy
from envace.inference.backends.hf import build as build_policy
from envace.inference.chat import load_renderer
from envace.tasks.task import Task
from envace.training import bases
from pipelines import stage
from pipelines.params import Params, plain
from pipelines.settings import Settings


def base(params: Params, settings: Settings, tasks: Sequence[Task]) -> Path:
    """The folder of the base policy, made once and kept in the cache.

    It is another one for other parameters, another maker or another version of transformers; one
    that is made from the tasks (`scratch`) also for other tasks.
    """
    chosen = params.policy.base
    makers = [sha256_of(path) for path in sorted(Path(bases.__path__[0]).glob("*.py"))]
    made_of: list[object] = [chosen.name, plain(chosen.config), makers, version("transformers")]
    if chosen.name == "scratch":
        made_of.append([task.model_dump(mode="json") for task in tasks])
    folder = settings.cache / "bases" / stage.fingerprint(made_of)
    if not folder.is_dir():
        stage.say(f"policy: making the base policy by {chosen.name}, once; about a minute")
        chosen.build(settings.sources(), folder, tasks)
    return folder


def policy(params: Params, folder: Path) -> HfPolicy:
    """The model in `folder`, in this process."""
    return build_policy(params.policy.engine, folder, load_renderer(folder).stop, folder.name)


def export(model: HfPolicy, like: Path, folder: Path) -> str:
    """Writes the policy's weights to `folder`, whole or not at all; returns their digest."""
    temporary = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(like, temporary, ignore=shutil.ignore_patterns("*.safetensors*"))
    model.model.save_pretrained(temporary)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    return digest_of(folder)
