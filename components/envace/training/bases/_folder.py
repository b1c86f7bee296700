"""A folder that appears whole or not at all."""

import shutil
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from envace.files import replace_folder


@contextmanager
def whole(folder: Path) -> Generator[Path]:
    """A new folder to fill beside `folder`; it takes that place when the block ends well."""
    temp = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    temp.mkdir(parents=True)
    try:
        yield temp
        replace_folder(temp, folder)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
