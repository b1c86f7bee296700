"""The local services of this checkout, and one scheduled run on them.

    python infra/local.py up [prefect] [worker] [mlflow]     starts what does not answer yet
    python infra/local.py down [prefect] [worker] [mlflow]   stops what was started here
    python infra/local.py retrain                            deploys the flow and runs it once

Addresses are PREFECT_API_URL and MLFLOW_URL, or the usual local ports. State, logs and process
ids are under state/.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import psutil
import typer

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "state/services"
BIN = Path(sys.executable).parent
PREFECT = os.environ.get("PREFECT_API_URL", "http://127.0.0.1:4200/api")
MLFLOW = os.environ.get("MLFLOW_URL", "http://127.0.0.1:5000")
POOL = "local"
START_LIMIT, STOP_LIMIT = 90, 20  # seconds
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)]),
    "PWD": str(ROOT),  # prefect.yaml reads it
    "PREFECT_API_URL": PREFECT,
    "PREFECT_HOME": str(ROOT / "state/prefect"),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "DO_NOT_TRACK": "1",
}
COMMANDS = {
    "prefect": f"prefect server start --host 127.0.0.1 --port {urlsplit(PREFECT).port}",
    "worker": f"prefect worker start --pool {POOL} --type process --name {POOL}",
    "mlflow": f"mlflow server --host 127.0.0.1 --port {urlsplit(MLFLOW).port} --workers 1"
    " --backend-store-uri sqlite:///state/mlflow.db --artifacts-destination state/mlartifacts",
}

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def up(names: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Starts the services that do not answer yet."""
    for name in _known(names):
        _start(name)


@app.command()
def down(names: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Stops the services that were started here."""
    for name in reversed(_known(names)):
        _stop(name)


@app.command()
def retrain() -> None:
    """Deploys the flow and runs it once; what had to be started for it is stopped at the end."""
    started: list[str] = []
    try:
        started += [name for name in ("prefect", "worker") if _start(name)]
        if "prefect" in started:  # nobody works on what its last stop left behind
            _end_runs("CRASHED")
        _prefect("--no-prompt", "deploy", "--all", log=LOGS / "deploy.log")
        _prefect("deployment", "run", "retrain/weekly", "--watch")
    except (KeyboardInterrupt, SystemExit):
        if started:
            _end_runs("CANCELLING")  # the worker ends the stage, then the run
        raise
    finally:
        for name in reversed(started):
            _stop(name)


def _known(names: list[str] | None) -> list[str]:
    if unknown := set(names or ()) - set(COMMANDS):
        _fail(f"no service {', '.join(sorted(unknown))}; there are {', '.join(COMMANDS)}.")
    return [name for name in COMMANDS if not names or name in names]


def _start(name: str) -> bool:
    """Brings the service up. Returns whether it had to be started."""
    if _answers(name):
        typer.echo(f"{name} is up")
        return False
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    with log.open("w") as sink:
        process = subprocess.Popen(
            [BIN / COMMANDS[name].split()[0], *COMMANDS[name].split()[1:]],
            cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
            start_new_session=True,
        )  # fmt: skip
    (LOGS / f"{name}.pid").write_text(str(process.pid))
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        if _answers(name):
            typer.echo(f"{name} is up, log: {log.relative_to(ROOT)}")
            return True
        time.sleep(0.5)
    _stop(name)
    _fail(f"{name} did not start; read {log.relative_to(ROOT)}.")


def _stop(name: str) -> None:
    """Ends the process that `_start` left, if it is still that process."""
    note = LOGS / f"{name}.pid"
    if not note.exists():
        return
    pid = int(note.read_text())
    if _runs(pid, COMMANDS[name]):
        os.killpg(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_LIMIT
        while _runs(pid, COMMANDS[name]) and time.monotonic() < deadline:
            time.sleep(0.2)
        if _runs(pid, COMMANDS[name]):
            os.killpg(pid, signal.SIGKILL)
        typer.echo(f"{name} is stopped")
    if name == "worker":  # else the server counts it as online for another 90 s
        _ask("DELETE", f"{PREFECT}/work_pools/{POOL}/workers/{POOL}")
    note.unlink()


def _runs(pid: int, command: str) -> bool:
    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return not zombie and command in " ".join(process.cmdline())
    except psutil.Error:  # It is gone, or somebody else's.
        return False


def _answers(name: str) -> bool:
    if name != "worker":
        return _ask("GET", f"{PREFECT if name == 'prefect' else MLFLOW}/health") is not None
    workers = _ask("POST", f"{PREFECT}/work_pools/{POOL}/workers/filter", b"{}")
    return any(worker["status"] == "ONLINE" for worker in json.loads(workers or b"[]"))


def _ask(method: str, url: str, body: bytes | None = None) -> bytes | None:
    """What the server answers; None when nothing does, or it refuses."""
    request = Request(url, body, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=5) as answer:
            return answer.read()
    except (HTTPError, OSError):
        return None


def _end_runs(state: str) -> None:
    """Sets the runs that are going on to `state`, and waits until none is: a run that stays open
    would hold the one place there is, and every later run would be cancelled.
    """
    query = {
        "flows": {"name": {"any_": ["retrain"]}},
        "flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}},
    }
    change = json.dumps({"state": {"type": state, "name": state.capitalize()}}).encode()
    deadline = time.monotonic() + STOP_LIMIT
    asked: set[str] = set()
    while time.monotonic() < deadline:
        found = _ask("POST", f"{PREFECT}/flow_runs/filter", json.dumps(query).encode())
        open_runs = {run["id"] for run in json.loads(found or b"[]")}
        if not open_runs:
            return
        for run in open_runs - asked:
            _ask("POST", f"{PREFECT}/flow_runs/{run}/set_state", change)
        asked |= open_runs
        time.sleep(0.5)


def _prefect(*arguments: str, log: Path | None = None) -> None:
    """Runs a command of prefect's; with `log` its output is shown only when it fails."""
    done = subprocess.run(
        [BIN / "prefect", *arguments], cwd=ROOT, env=ENVIRONMENT, check=False,
        stdout=log and subprocess.PIPE, stderr=log and subprocess.STDOUT, text=True,
    )  # fmt: skip
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout)
    if done.returncode:
        said = f": {done.stdout.strip()}" if log else "."
        _fail(f"prefect {' '.join(arguments)} ended with {done.returncode}{said}")


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _fail(sentence: str) -> NoReturn:
    typer.echo(f"local: {sentence}", err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker stops by it: never ignored
    app()
