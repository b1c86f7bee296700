"""Files that are written whole or not at all, and the hashes that say what is in them."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(folder: Path) -> str:
    """The content hash of a folder: sha256 over the sorted (path, sha256) pairs of its files."""
    files = {f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()}
    pairs = [f"{name}\0{sha256_of(files[name])}\n" for name in sorted(files)]
    return hashlib.sha256("".join(pairs).encode()).hexdigest()


def write_atomically(path: Path, data: bytes | str) -> None:
    """Writes the whole file or nothing, making its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temp.write_bytes(data.encode() if isinstance(data, str) else data)
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)


@contextmanager
def scratch_beside(target: Path) -> Generator[Path]:
    """An empty folder on the file system of `target`, which goes when the block ends."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        yield Path(folder)


def clear_scratch(target: Path) -> None:
    """Takes away what killed writers of `target` left beside it."""
    for left in target.parent.glob(f".{target.name}.*"):
        shutil.rmtree(left, ignore_errors=True)


def replace_folder(temp: Path, target: Path) -> None:
    """Moves `temp` to `target` on the same file system; an older `target` goes once it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    old = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    if target.exists():
        target.replace(old)
    temp.replace(target)
    shutil.rmtree(old, ignore_errors=True)


def sync(path: Path) -> None:
    """Forces a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
