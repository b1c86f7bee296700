"""The programs around the package: what CI installs, what is still running, what is pinned."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("local", ROOT / "infra/local.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setenv("PATH", os.devnull)  # no `ps` either
    spec.loader.exec_module(module)
    return module


def test_a_service_runs_until_its_process_has_ended(local: ModuleType) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()", "serve"], stdin=subprocess.PIPE)
    assert local._runs(process.pid, "input() serve")
    assert not local._runs(process.pid, "another command")
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, but still in the list
    assert not local._runs(process.pid, "input() serve")
    process.communicate()
    assert not local._runs(process.pid, "input() serve")


def machine(folder: Path, **programs: str) -> dict[str, str]:
    """An environment whose only programs are these shell scripts, which log how they are called."""
    for name, script in {"make": "", "git": "", "apt-get": "", **programs}.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "$(basename $0)" "$@" >&2\n{script}\n')
        path.chmod(0o755)
    (folder / "basename").symlink_to("/usr/bin/basename")
    return {"PATH": str(folder)}


def ci(environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        ["/bin/bash", ROOT / ".ci/run"], env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stderr


def test_ci_uses_the_python_that_is_there(tmp_path: Path) -> None:
    code, said = ci(machine(tmp_path, **{"python3.12": ""}))
    assert (code, "apt-get" in said) == (0, False)
    assert said.endswith("make check\nmake test\n")


def test_ci_installs_a_python_that_we_can_use(tmp_path: Path) -> None:
    shows = '[ "$2" = python3.12-venv ]'
    code, said = ci(machine(tmp_path, python3="exit 1", **{"apt-cache": shows}))
    assert code == 0
    assert re.search(r"apt-get install .* python3\.12 python3\.12-venv\n", said)


def test_ci_says_so_when_no_python_will_do(tmp_path: Path) -> None:
    code, said = ci(machine(tmp_path, python3="exit 1", **{"apt-cache": "exit 100"}))
    assert code == 1
    assert said.splitlines()[-1].startswith("ci: found no Python 3.11 or 3.12 here or among")


def test_every_package_that_data_comes_from_is_pinned_by_hash() -> None:
    named = (ROOT / "requirements/tau2.in").read_text().splitlines()
    wanted = [line.split("==")[0] for line in named if not line.startswith("#")]
    locked = re.findall(r"^(\S+)==.*\\\n +--hash=sha256:", text := lock(), re.MULTILINE)
    assert sorted(locked) == sorted(wanted)
    assert all(line in text for line in named if not line.startswith("#"))


def lock() -> str:
    return (ROOT / "requirements/tau2.lock").read_text()
