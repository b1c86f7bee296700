"""The order of the stages, read from dvc.yaml and written nowhere else.

One idea: stage B follows stage A when B depends on a path that A puts out. Stages that are
independent of each other keep the order in which the file has them.
"""

import heapq
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import Any

from envace.errors import ConfigError
from pipelines.yaml12 import read_yaml

_OUTPUTS = ("outs", "metrics", "plots")


def stages(dvc_yaml: Path) -> tuple[str, ...]:
    """The names of the stages, each after every stage that it depends on."""
    declared = read_yaml(dvc_yaml).get("stages")
    if not isinstance(declared, Mapping) or not declared:
        raise ConfigError(f"{dvc_yaml} has no stages; add 'stages:' with at least one.")
    made = {name: _paths(dvc_yaml, name, stage, _OUTPUTS) for name, stage in declared.items()}
    graph = {
        name: {
            other
            for other in made
            for need in _paths(dvc_yaml, name, stage, ("deps",))
            if other != name and any(_touches(need, out) for out in made[other])
        }
        for name, stage in declared.items()
    }
    try:
        return _ordered(graph)
    except CycleError as error:
        circle = " > ".join(error.args[1])
        raise ConfigError(f"{dvc_yaml} goes in a circle: {circle}; remove one dep.") from None


def _ordered(graph: Mapping[str, set[str]]) -> tuple[str, ...]:
    """A topological order; among the stages that are ready, the first in the file comes first."""
    names = list(graph)
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    ready: list[int] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, names.index(name))
        order.append(names[heapq.heappop(ready)])
        sorter.done(order[-1])
    return tuple(order)


def _paths(
    dvc_yaml: Path, name: str, stage: Mapping[str, Any], keys: tuple[str, ...]
) -> list[PurePosixPath]:
    """The paths under `keys` of a stage; an entry is a path, or a path with its options."""
    if odd := {"foreach", "matrix", "wdir"} & set(stage):
        raise ConfigError(
            f"{dvc_yaml}: stage '{name}' uses {', '.join(sorted(odd))}; write plain stages, "
            "whose order can be read from their deps and outs."
        )
    entries = [entry for key in keys for entry in stage.get(key) or ()]
    return [PurePosixPath(next(iter(e)) if isinstance(e, Mapping) else e) for e in entries]


def _touches(need: PurePosixPath, out: PurePosixPath) -> bool:
    """Is one the other, or a folder that holds it?"""
    return need.is_relative_to(out) or out.is_relative_to(need)
