"""The policies that the stages hand on, as model folders with a hash each."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from envace.errors import ConfigError
from envace.files import digest_of, sha256_of
from envace.inference.backends.hf import HfPolicy
from envace.inference.backends.hf import build as build_policy
from envace.inference.chat import ChatML, load_renderer
from envace.rehearsal.act import demonstrate as acted
from envace.rehearsal.rehearse import demonstrate as rehearsed
from envace.strict_json import loads
from envace.tasks.task import Task
from envace.training import bases
from envace.training.shape import shape_of
from pipelines import stage
from pipelines.params import Params, plain
from pipelines.settings import Settings

TOKENIZER_TASKS = 2_000
"""A tokenizer that is made from tasks is made from this many, the first ones."""


def base(params: Params, settings: Settings, tasks: Iterable[Task]) -> Path:
    """The folder of the base policy, made once and kept in the cache.

    It is another one for other parameters, another maker or another version of transformers; one
    that is made from the tasks (`scratch`) also for other ones among the first of them.
    """
    chosen = params.policy.base
    makers = [sha256_of(path) for path in sorted(Path(bases.__path__[0]).glob("*.py"))]
    made_of: list[object] = [chosen.name, plain(chosen.config), makers, version("transformers")]
    first = list(islice(tasks, TOKENIZER_TASKS)) if chosen.name == "scratch" else []
    made_of += [task.model_dump(mode="json") for task in first]
    folder = settings.cache / "bases" / stage.fingerprint(made_of)
    if not folder.is_dir():
        stage.say(f"policy: making the base policy by {chosen.name}, once; about a minute")
        chosen.build(settings.sources(), folder, first)
    return folder


@dataclass(frozen=True)
class TokenCount:
    """Counts the tokens of a task's longest training sequence, in either role.

    It holds no more than a path, so that it can be sent to other processes; each loads the
    tokenizer of the policy in `folder` once.
    """

    folder: Path

    def __call__(self, task: Task) -> int:
        """The tokens of `task`."""
        renderer = _renderer(self.folder)
        act = acted(renderer, task.system, task.tools, task.conversation)
        rehearse = rehearsed(renderer, task.tools, task.conversation, show_recorded=True)
        return max(sum(len(span.ids) for span in one.spans) for one in (act, *rehearse))

    @property
    def fingerprint(self) -> str:
        """Another one when counts may be others: for another tokenizer, or code of the stage."""
        return stage.fingerprint(sha256_of(self.folder / "tokenizer.json"), stage.code_of("curate"))


@lru_cache(maxsize=1)
def _renderer(folder: Path) -> ChatML:
    return load_renderer(folder)


def policy(params: Params, folder: Path) -> HfPolicy:
    """The model in `folder`, in this process. Raises `ConfigError` if it has another size."""
    _has_shape(params, folder)
    return build_policy(params.policy.engine, folder, load_renderer(folder).stop, folder.name)


def _has_shape(params: Params, folder: Path) -> None:
    """Refuses a model that is not of the size that the parameters state."""
    stated = params.policy.shape
    if stated is None:
        return
    found = shape_of(loads((folder / "config.json").read_text()))
    if found != stated:
        raise ConfigError(
            f"the policy in {folder} is {found}, but policy.shape states {stated}; correct it."
        )


def export(model: HfPolicy, like: Path, folder: Path) -> str:
    """Writes the policy's weights to `folder`, whole or not at all; returns their digest."""
    temporary = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    shutil.copytree(like, temporary, ignore=shutil.ignore_patterns("*.safetensors*"))
    model.model.save_pretrained(temporary)
    shutil.rmtree(folder, ignore_errors=True)
    temporary.rename(folder)
    return digest_of(folder)
