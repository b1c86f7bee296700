"""Stage register: the trained policy becomes a registered version with its lineage."""

import csv
import json
import subprocess
from pathlib import Path

from envace.files import digest_of, write_atomically
from envace.registry.models import Registry
from envace.registry.store import put
from pipelines import params, paths, stage
from pipelines.records import Registered
from pipelines.settings import Settings

CHALLENGER = "challenger"
MAKES = ("seed", "policy", "curate", "warmstart", "train")
"""The sections of the parameters that make the weights."""
MARK = paths.STATE / "registered.json"
"""A copy of the record where the registry is, and an out of this stage: when state/ is lost, DVC
misses it and registers again; the record is another one then, so the stages after it run too."""


def main() -> str:
    """Stores the bytes, registers them, sets the alias."""
    chosen, settings = params.load(), Settings.load()
    stored = put(paths.GRPO, paths.STORE)
    registry = Registry(settings.tracking_uri, chosen.register_.name)
    seed = {"seed": str(chosen.seed)}
    version = registry.register(stored, lineage(chosen), seed, final(paths.TRAIN_CURVE))
    registry.set_alias(CHALLENGER, version.number)
    record = Registered(
        name=registry.name,
        version=version.number,
        digest=version.digest,
        created=version.created,
        lineage=version.tags,
    )
    for path in (MARK, paths.VERSION):
        write_atomically(path, record.model_dump_json(indent=1))
    return f"{registry.name} version {version.number} ({version.digest[:12]}) is {CHALLENGER}"


def lineage(chosen: params.Params) -> dict[str, str]:
    """What the weights came from."""
    values = params.plain(chosen)
    return {
        "profile": chosen.profile,
        "params": stage.fingerprint({name: values[name] for name in MAKES}),
        "data": digest_of(paths.TRAIN),
        "base": json.dumps(values["policy"]["base"]),
        "commit": commit(),
    }


def final(curve: Path) -> dict[str, float]:
    """The metrics of the last step of a training curve, none without one."""
    rows = list(csv.DictReader(curve.read_text("utf-8").splitlines())) if curve.exists() else []
    last = rows[-1] if rows else {}
    return {name: float(cell) for name, cell in last.items() if cell and name != "step"}


def commit() -> str:
    """The code's commit, with `+` when the tree differs from it; empty outside a checkout."""
    described = subprocess.run(
        ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip()
