"""Weights by content hash: a folder whose name is the hash of what it holds.

One idea: nothing is ever changed in the store. A model is copied in under a temporary name, made
read-only, forced to disk and renamed to its digest, so that a digest that is there is whole;
putting it again does nothing. Copies are made, not hard links: a link shares its bytes with a file
that a later training run may write in place.
"""

import hashlib
import shutil
import uuid
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from envace.episode import Record
from envace.errors import RegistryError
from envace.files import digest_of, sha256_of, sync

_MANIFEST = "manifest.json"
_READ_ONLY = 0o444


class StoredFile(Record):
    """One file of a model."""

    name: str
    """Path inside the model's folder."""
    size: int
    """Bytes."""
    sha256: str


class _Manifest(Record):
    files: tuple[StoredFile, ...]


class Stored(Record):
    """A model in the store."""

    digest: str
    path: Path
    files: tuple[StoredFile, ...]


def put(folder: Path, store: Path) -> Stored:
    """Copies the model in `folder` into `store`; a model that is there already is only verified."""
    files = _list(folder)
    digest = digest_of(folder)
    target = (store / digest).absolute()
    if not target.exists():
        store.mkdir(parents=True, exist_ok=True)
        temp = store / f".put-{uuid.uuid4().hex}"
        try:
            _copy(folder, files, temp)
            _rename(temp, target)
        finally:
            shutil.rmtree(temp, ignore_errors=True)
    verify(target)
    return Stored(digest=digest, path=target, files=files)


def verify(path: Path) -> None:
    """Checks every byte of a stored model. Raises `RegistryError` naming the first bad file."""
    rows = _read_manifest(path)
    for row in rows:
        if problem := _problem(path / row.name, row):
            raise RegistryError(f"{path / row.name} {problem}; {_advice(path)}")
    there = {file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir()}
    if extra := sorted(there - {row.name for row in rows} - {_MANIFEST}):
        raise RegistryError(f"{path / extra[0]} is not in its manifest; {_advice(path)}")


def _problem(file: Path, row: StoredFile) -> str | None:
    """What is wrong with a file, as a clause."""
    if not file.is_file():
        return "is not there"
    if (size := file.stat().st_size) != row.size:
        return f"has {size} bytes, expected {row.size}"
    if (sha256 := sha256_of(file)) != row.sha256:
        return f"has sha256 {sha256}, expected {row.sha256}"
    return None


def _read_manifest(path: Path) -> tuple[StoredFile, ...]:
    """The rows of a manifest whose own hash is the name of its folder."""
    file = path / _MANIFEST
    try:
        rows = _Manifest.model_validate_json(file.read_bytes()).files
    except (OSError, ValidationError):
        raise RegistryError(
            f"{file} is not there or is no manifest; {path} is not a model of the store."
        ) from None
    for row in rows:
        parts = PurePosixPath(row.name)
        if parts.is_absolute() or ".." in parts.parts:
            raise RegistryError(f"{file} names '{row.name}' outside its folder; {_advice(path)}")
    if (digest := _digest(rows)) != path.name:
        raise RegistryError(f"{file} hashes to {digest}, not to its folder's name; {_advice(path)}")
    return rows


def _digest(files: tuple[StoredFile, ...]) -> str:
    """What `files.digest_of` gives for a folder with these files."""
    pairs = sorted((file.name, file.sha256) for file in files)
    return hashlib.sha256("".join(f"{n}\0{h}\n" for n, h in pairs).encode()).hexdigest()


def _list(folder: Path) -> tuple[StoredFile, ...]:
    if not folder.is_dir():
        raise RegistryError(f"no folder {folder}; expected a model's folder, run its stage first.")
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir())
    links = [path for path in folder.rglob("*") if path.is_symlink()]
    if links:
        raise RegistryError(f"{links[0]} is a symbolic link; put a folder of plain files.")
    if not paths or folder / _MANIFEST in paths:
        found = f"has its own {_MANIFEST}" if paths else "is empty"
        raise RegistryError(f"{folder} {found}; expected the files of one model.")
    return tuple(
        StoredFile(
            name=path.relative_to(folder).as_posix(),
            size=path.stat().st_size,
            sha256=sha256_of(path),
        )
        for path in paths
    )


def _copy(folder: Path, files: tuple[StoredFile, ...], temp: Path) -> None:
    """Copies `files` and writes their manifest, every byte and every name forced to disk."""
    temp.mkdir()
    for file in files:
        target = temp / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / file.name, target)
    (temp / _MANIFEST).write_text(_Manifest(files=files).model_dump_json(indent=1) + "\n")
    for path in sorted(temp.rglob("*"), reverse=True):
        if path.is_file():
            path.chmod(_READ_ONLY)
        sync(path)
    sync(temp)


def _rename(temp: Path, target: Path) -> None:
    """Gives the folder its final name, unless somebody else was first with the same bytes."""
    try:
        temp.rename(target)
    except OSError:
        if not target.exists():
            raise
    sync(target.parent)


def _advice(path: Path) -> str:
    return f"remove {path} and register that model again."
