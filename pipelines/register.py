"""Stage register: the trained policy becomes a registered version with its lineage."""

import json
import subprocess

from envace.artifacts import sha256_of, write_atomically
from envace.registry.models import Registry
from envace.registry.store import put
from pipelines import params, paths, stage
from pipelines.settings import Settings

CHALLENGER = "challenger"


def main() -> str:
    """Stores the bytes, registers them, sets the alias."""
    chosen, settings = params.load(), Settings.load()
    stored = put(paths.GRPO, paths.STORE)
    lineage = {
        "profile": chosen.profile,
        "params": stage.fingerprint(params.plain(chosen)),
        "data": sha256_of(paths.TRAIN),
        "base": json.dumps(params.plain(chosen.policy)["base"]),
        "commit": commit(),
    }
    registry = Registry(settings.tracking_uri, chosen.register_.name)
    version = registry.register(stored, lineage, {"seed": str(chosen.seed)})
    registry.set_alias(CHALLENGER, version.number)
    record = {"name": registry.name, "version": version.number, "digest": version.digest}
    write_atomically(paths.VERSION, json.dumps(record | {"lineage": lineage}, indent=1))
    return f"{registry.name} version {version.number} ({version.digest[:12]}) is {CHALLENGER}"


def commit() -> str:
    """The code's commit, with `+` when the tree differs from it; empty outside a checkout."""
    described = subprocess.run(
        ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip()
