"""Source: recorded trajectories of tau-bench (v1): an agent's runs in airline or retail.

Source: result files of `sierra-research/tau-bench`, its `historical_trajectories` or your own runs.
License: MIT (Sierra Research); your own runs are yours.
Schema: a JSON array, one object a run: `task_id`, `trial`, `reward`, `traj` (the conversation in
OpenAI's form, system message first).
Size: 50 airline and 115 retail tasks a trial.

The files hold no tool schemas, so these are given beside them, as a JSON array in OpenAI's form. A
run below `min_reward` is rejected: what failed is nothing to imitate. The user's last word is
`###STOP###`, and what follows the last reply is cut off. Its tasks are those of tau2's benchmark:
decontaminate against `tau2_split: base` and they go.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, JsonValue

from envace.artifacts import Cache
from envace.errors import TaskError
from envace.tasks.source import Part, Rejected, Source
from envace.tasks.sources._chat import About, task_of, tools_of
from envace.tasks.sources._files import FileConfig, Files, Records
from envace.tasks.task import Task

NAME = "tau_bench_logs"


class Config(FileConfig):
    """Which runs, and the tools of their domain."""

    tools: Path
    """JSON file with the tools that the agent had, as OpenAI's list."""
    domain: str = "tau_bench"
    """Domain of the tasks and family of their tools, for example `tau_bench_airline`."""
    min_reward: float = Field(default=1.0, ge=0, le=1)
    """Least reward of a run that is kept."""


def build(config: Config, cache: Cache) -> Source:
    """The runs of the files as a source. Raises `TaskError` when the tools cannot be read."""
    try:
        tools = config.tools.read_text("utf-8")
        tools_of(tools)
    except (OSError, ValueError) as error:
        raise TaskError(
            f"the tools in {config.tools} cannot be read ({error}); expected OpenAI's list of the "
            "tools that the agent had."
        ) from None
    key = hashlib.sha256(tools.encode()).hexdigest()
    return Runs(
        NAME, Files(config.files, cache), Reader(tools, config.domain, config.min_reward), key
    )


@dataclass(frozen=True)
class Runs(Records):
    """Recorded runs as tasks, which change with the tools as well."""

    tools: str
    """Hash of the tools."""

    def parts(self) -> Sequence[Part]:
        """Pieces of the files; see `Files.parts`."""
        found = super().parts()
        return [p.model_copy(update={"key": f"{p.key} {self.tools}"}) for p in found]


@dataclass(frozen=True)
class Reader:
    """A run and its place → its task, or why there is none."""

    tools: str
    domain: str
    min_reward: float

    def __call__(self, run: Mapping[str, JsonValue], place: str) -> Task | Rejected:
        """Never raises, whatever the run holds."""
        reward = run.get("reward")
        if not isinstance(reward, int | float) or isinstance(reward, bool):
            return Rejected(NAME, place, "no_reward: the run does not say how it ended")
        if reward < self.min_reward:
            said = f"reward {reward:g}, expected {self.min_reward:g} or more"
            return Rejected(NAME, place, f"failed_episode: {said}")
        names = (run.get("task_id"), run.get("trial"))
        own = "/".join(str(name) for name in names if isinstance(name, int | str))
        return task_of(
            run.get("traj"),
            self.tools,
            About(
                NAME,
                place,
                f"{self.domain}/{own}" if own else "",
                self.domain,
                family=self.domain,
            ),
        )
