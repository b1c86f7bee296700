"""Engine: a Ray cluster, by Ray Data; the work folder must be one that all its machines see.

Needs the extra `scale`. Without an address it starts Ray on this machine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from envace import config
from envace.errors import ConfigError, TaskError

J = TypeVar("J")
R = TypeVar("R")


class Config(config.Config):
    """Which cluster."""

    address: str = ""
    """Of the cluster, `auto` or `ray://HOST:PORT`; empty: Ray is started on this machine."""


def build(config: Config) -> "Cluster":
    """The engine."""
    return Cluster(config.address)


@dataclass(frozen=True)
class Cluster:
    """Ray Data over the jobs, a block each, so that a lost machine costs only its parts."""

    address: str

    def run(self, work: Callable[[J], R], jobs: Sequence[J]) -> Iterator[R]:
        """Does `work` for each job; see `envace.tasks.curation.curate.Engine`."""
        if not jobs:
            return
        try:
            import ray
            import ray.data
            from ray.exceptions import RayError
        except ImportError:
            raise ConfigError(
                "curate.rules.engine is ray, which is not installed; install the extra `scale`."
            ) from None
        own = not ray.is_initialized()
        if own:
            ray.init(self.address or "local", include_dashboard=False, log_to_driver=False)
        try:
            ray.data.DataContext.get_current().execution_options.preserve_order = True
            numbers = ray.data.range(len(jobs), override_num_blocks=len(jobs))
            done = numbers.map(lambda row: {"result": work(jobs[row["id"]])})
            for row in done.iter_rows():
                yield row["result"]
        except RayError as error:
            raise TaskError(f"Ray stopped: {str(error).splitlines()[-1]}; run it again.") from None
        finally:
            if own:
                ray.shutdown()
