import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import envace
from envace.config import Config

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("components/**/*.py"), *ROOT.glob("pipelines/*.py")])
PACKAGES = sorted({path.parent for path in ROOT.glob("components/envace/*/**/*.py")})
TENSORS = re.compile(r"envace\.(grpo|training|inference\.backends\._?hf)")
OTHER_ENVIRONMENTS = {"envace.tasks.sources._tau2.worker"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def modules() -> list[str]:
    found = pkgutil.walk_packages(envace.__path__, "envace.")
    return [info.name for info in found if info.name not in OTHER_ENVIRONMENTS]


def configs(cls: type[Config] = Config) -> Iterator[type[Config]]:
    for child in cls.__subclasses__():
        yield from (child, *configs(child))


def tracked() -> list[Path]:
    """What git would commit, as far as it is text."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = (ROOT / line for line in listing.stdout.splitlines())
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def test_the_contracts_between_packages_hold() -> None:
    program = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_is_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_function_is_at_most_40_lines(path: Path) -> None:
    long = [
        f"{node.name}, line {node.lineno}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= 40
    ]
    assert not long


@pytest.mark.parametrize("path", [p for p in SOURCES if "components" in p.parts], ids=name)
def test_a_component_does_not_print(path: Path) -> None:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py"], ids=name)
def test_a_package_file_imports_nothing_but_the_standard_library(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {module.split(".")[0] for module in found} <= sys.stdlib_module_names


@pytest.mark.parametrize("folder", PACKAGES, ids=name)
def test_a_folder_has_at_most_12_entries(folder: Path) -> None:
    entries = [p.name for p in folder.iterdir() if p.name not in ("__init__.py", "__pycache__")]
    assert len(entries) <= 12, sorted(entries)


def test_every_parameter_says_what_it_means() -> None:
    for module in modules():
        importlib.import_module(module)
    fields = [(cls, key, field) for cls in configs() for key, field in cls.model_fields.items()]
    assert fields
    assert not [f"{cls.__module__}: {key}" for cls, key, field in fields if not field.description]


def test_nothing_imports_torch_but_the_packages_that_hold_tensors() -> None:
    light = [module for module in modules() if not TENSORS.match(module)]
    program = (
        "import importlib, sys\n"
        f"for module in {light}:\n"
        "    importlib.import_module(module)\n"
        "    assert 'torch' not in sys.modules, module\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_file_names_a_machine_or_a_registry() -> None:
    folders, hosts = ("work", "root", "home"), ("pypi.org", "pythonhosted.org", "npmjs.org")
    path = rf"(?<![\w.~}}])/(?:{'|'.join(folders)})/"
    host = rf"https?://[\w.-]*(?:{'|'.join(map(re.escape, hosts))})"
    bad = re.compile(f"{path}|{host}")
    found = [
        f"{name(file)}, line {number}: {line.strip()}"
        for file in tracked()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if bad.search(line)
    ]
    assert not found
