"""Curation at size: records a second and memory at 10k, 100k and 300k, beside a plain map.

    python bench/curate.py --sizes 10000,100000,300000 --folder /tmp/curate

Files of chat completions are made from the real tau2 tasks (`_records.py`) and curated with
everything: rule filters, near-duplicates, decontamination against BFCL and tau2, split. The
smallest is also curated with the rule filters alone; and `datasets` loads it and maps two functions
over it, in one process as CM2's filter runs: the rule filters written plainly (`_plain.py`), and
our own. Every run is a process of its own; memory is the sum over its processes, looked at ten
times a second. The two maps must keep the same records, and so must curation but for repeated ones.
"""

import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

sys.path.insert(0, str(Path(__file__).parent))

import _plain
import _records

from envace.artifacts import Cache
from envace.tasks.checks.rules import problem
from envace.tasks.curation.config import Config
from envace.tasks.curation.curate import Desk, Origin, curate
from envace.tasks.source import read_all
from envace.tasks.sources import openai_chat, tau2_gold
from envace.tasks.sources._chat import About, task_of
from envace.tasks.task import Task
from pipelines.settings import Settings

ALL_RULES = {"held_out_share": 0, "max_tokens": 10**9}
VARIANTS: dict[str, dict[str, Any]] = {
    "everything": {**ALL_RULES, "near": 0.9, "decontaminate": {"benchmarks": ["bfcl", "tau2"]}},
    "rules": {**ALL_RULES, "near": 0},
}


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    name: str
    records: int
    kept: int
    seconds: float
    records_per_s: float
    peak_mib: float


def characters(task: Task) -> int:
    """About the tokens of a task."""
    return sum(len(message.content) for message in task.conversation) // 4


def curated(file: Path, out: Path, variant: str) -> int:
    """Curates the file; returns how many tasks were kept."""
    config = openai_chat.Config.model_validate({"files": [{"path": str(file)}]})
    source = openai_chat.build(config, cache := Settings.load().sources())
    desk = Desk(cache, characters, "characters", out / "work", out / "tasks")
    origins = [Origin("openai_chat", "", source)]
    return curate(origins, Config.model_validate(VARIANTS[variant]), desk).train.tasks


def mapped(file: Path, out: Path, function: str) -> int:
    """Maps a filter over the file with `datasets`; returns how many rows were kept."""
    import datasets

    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(out / "cache")
    )
    keep: Callable[[dict[str, Any]], bool] = _plain.keep if function == "plain" else ours
    return len(loaded.map(lambda row: {"kept": keep(row)}).filter(lambda row: row["kept"]))


def ours(row: dict[str, Any]) -> bool:
    """Our rule filters, one row at a time."""
    task = task_of(row["messages"], row["tools"], About("openai_chat", "", row["id"]))
    return isinstance(task, Task) and problem(task) is None


def measured(name: str, run: Callable[..., int], file: Path, records: int, what: str) -> Cost:
    """Runs it in a process of its own."""
    out = Path(tempfile.mkdtemp(dir=file.parent))
    kept = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(
        target=_report, args=(kept, run, file, out, what)
    )
    started, peak = time.perf_counter(), 0
    process.start()
    while process.is_alive():
        peak = max(peak, _memory(process.pid))
        process.join(0.1)
    seconds = time.perf_counter() - started
    if process.exitcode:
        raise SystemExit(f"{name} failed")
    cost = Cost(name, records, kept.get(), seconds, records / seconds, peak / 2**20)
    shutil.rmtree(out)
    typer.echo(
        f"{cost.name:22} {cost.records:8,} records {cost.kept:8,} kept {cost.seconds:8.1f} s "
        f"{cost.records_per_s:8.0f} records/s {cost.peak_mib:7.0f} MiB"
    )
    return cost


def _report(kept: Any, run: Callable[..., int], file: Path, out: Path, what: str) -> None:
    kept.put(run(file, out, what))


def _memory(pid: int | None) -> int:
    """Resident bytes of a process and its children, pages that they share counted for each."""
    total = 0
    try:
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.NoSuchProcess:
        return total
    return total


def main(
    sizes: Annotated[str, typer.Option(help="Records of each file.")] = "10000,100000,300000",
    folder: Annotated[Path, typer.Option(help="Where the files are made.")] = Path("state/bench"),
    result: Annotated[Path, typer.Option(help="JSON.")] = Path("bench/results/curate.json"),
) -> None:
    """Makes the files, runs all on them and prints a line each."""
    folder.mkdir(parents=True, exist_ok=True)
    cache: Cache = Settings.load().sources()
    real = [t for t in read_all(tau2_gold.build(tau2_gold.Config(), cache)) if isinstance(t, Task)]
    typer.echo(f"{len(real):,} real tasks")
    costs: list[Cost] = []
    for place, size in enumerate(map(int, sizes.split(","))):
        _records.write(file := folder / f"{size}.jsonl", real, size)
        typer.echo(f"{file.name}: {file.stat().st_size / 2**20:,.0f} MiB")
        costs.append(measured("everything", curated, file, size, "everything"))
        if not place:
            costs.append(measured("rules", curated, file, size, "rules"))
            costs.append(measured("datasets, plain", mapped, file, size, "plain"))
            costs.append(measured("datasets, our rules", mapped, file, size, "ours"))
        file.unlink()
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")
    rate = {cost.name: cost.records_per_s for cost in costs[:4]}
    for name in ("datasets, plain", "datasets, our rules"):
        typer.echo(f"rules / {name}: {rate['rules'] / rate[name]:.1f} times")


if __name__ == "__main__":
    typer.run(main)
