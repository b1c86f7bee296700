"""Records from files: JSON Lines (also gzipped), a JSON array, or Parquet; read in pieces.

One idea: a piece of a file is known before it is read, so that many processes can read one file. A
line belongs to the piece that its first byte is in; a row of Parquet to its row group. What cannot
be read is a reason beside its place, never an exception, and no record is skipped.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import Field, JsonValue, model_validator

from envace import config
from envace.artifacts import SHA256, Cache
from envace.errors import ConfigError, TaskError
from envace.files import sha256_of
from envace.strict_json import loads
from envace.tasks.source import Part, Rejected
from envace.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".jsonl", ".jsonl.gz", ".json", ".parquet")
PART_BYTES = 8 << 20
"""Bytes of a JSON Lines file that are read as one piece."""
MAX_LINE = 4 << 20
"""Bytes of one record."""
MAX_FILE = 64 << 20
"""Bytes of a `.json` file, which is read as a whole."""
_BATCH = 256


class File(config.Config):
    """A file of records: one here, or one at a source URI, pinned by its hash."""

    path: Path | None = None
    """Where it is on this machine; a name without a suffix is a folder, of which all files of a
    known format are read, by name."""
    uri: str | None = None
    """Or a source URI; then `sha256` is needed."""
    sha256: str | None = Field(default=None, pattern=SHA256)
    """Of its bytes, in hex; of a path it may be left out, and a folder has none."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.uri is None):
            raise ConfigError("a file has a path or a uri, and not both; write one of them.")
        if self.uri is not None and self.sha256 is None:
            raise ConfigError(f"{self.uri} has no sha256; pin the file that you mean.")
        if self.is_folder and self.sha256:
            raise ConfigError(f"{self.path} is a folder; give the sha256 of each file instead.")
        if not self.is_folder and not self.name.endswith(FORMATS):
            raise ConfigError(f"'{self.name}' is none of {', '.join(FORMATS)}; convert it first.")
        return self

    @property
    def name(self) -> str:
        """Its last component."""
        return self.path.name if self.path else str(self.uri).rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        """Does it stand for the files below it?"""
        return self.path is not None and not self.path.suffix


class FileConfig(config.Config):
    """The files of a source."""

    files: tuple[File, ...] = Field(min_length=1)
    """Read in this order: JSON Lines (`.jsonl`, `.jsonl.gz`), a JSON array, or Parquet."""


@dataclass(frozen=True)
class Files:
    """Some files, and where those that are fetched are kept."""

    files: tuple[File, ...]
    cache: Cache
    part_bytes: int = PART_BYTES

    def parts(self) -> Sequence[Part]:
        """The pieces of all files, in order; fetches those that are not here.

        Raises `TaskError` for a file that is not there or not what its name says, and what
        `Cache.fetch` raises.
        """
        return [part for number, file in enumerate(self.files) for part in self._of(number, file)]

    def rows(self, part: Part) -> Iterator[tuple[str, Mapping[str, JsonValue] | str]]:
        """Each record's place with the record, or with the reason why there is none."""
        number, _, below = part.place.partition("/")
        path = self._here(self.files[int(number)], below)
        name = below or self.files[int(number)].name
        if name.endswith(".parquet"):
            found = _parquet(path, part.start)
        elif name.endswith(".json"):
            found = _array(path)
        else:
            found = _lines(path, part)
        for place, value in found:
            if isinstance(value, str | dict):
                yield f"{name}:{place}", value
            else:
                got = type(value).__name__
                yield f"{name}:{place}", f"not_an_object: got {got}, expected an object"

    def _here(self, file: File, below: str = "") -> Path:
        if file.path is None:
            return self.cache.fetch(str(file.uri), str(file.sha256))
        path = file.path / below
        if not path.is_file():
            raise TaskError(f"there is no file {path}; correct the files of the source.")
        return path

    def _of(self, number: int, file: File) -> Iterator[Part]:
        for below in _below(file.path) if file.path and file.is_folder else [""]:
            path = self._here(file, below)
            digest = sha256_of(path)
            if file.sha256 not in (None, digest):
                raise TaskError(
                    f"{path} has sha256 {digest}, expected {file.sha256}; pin the file you mean."
                )
            name = below or file.name
            for start, stop in self._cuts(name, path):
                yield Part(
                    name=f"{number}/{name}:{start}-{stop}",
                    key=digest,
                    place=f"{number}/{below}",
                    start=start,
                    stop=stop,
                )

    def _cuts(self, name: str, path: Path) -> list[tuple[int, int]]:
        if name.endswith(".parquet"):
            return [(n, n + 1) for n in range(_row_groups(path))]
        size = path.stat().st_size
        if name.endswith(".json") and size > MAX_FILE:
            raise TaskError(
                f"{path} takes {size:,} bytes, limit {MAX_FILE:,}; a .json file is read as a "
                "whole, so convert it to JSON Lines."
            )
        if not name.endswith(".jsonl"):
            return [(0, size)]
        starts = range(0, size, self.part_bytes)
        return [(start, min(start + self.part_bytes, size)) for start in starts]


@dataclass(frozen=True)
class Records:
    """A source whose tasks come one from a record of its files."""

    source: str
    """The plug-in."""
    files: Files
    task: Callable[[Mapping[str, JsonValue], str], Task | Rejected]
    """The record and its place → its task, or why there is none; picklable."""

    def parts(self) -> Sequence[Part]:
        """Pieces of the files; see `Files.parts`."""
        return self.files.parts()

    def read(self, part: Part) -> Iterator[Task | Rejected]:
        """Every record of the piece."""
        for place, record in self.files.rows(part):
            if isinstance(record, str):
                yield Rejected(self.source, place, record)
            else:
                yield self.task(record, place)


def _below(folder: Path) -> list[str]:
    """The files of a known format in a folder, save hidden ones, by name."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    found = sorted(
        name.as_posix()
        for name in names
        if name.name.endswith(FORMATS) and not any(part.startswith(".") for part in name.parts)
    )
    if not found:
        raise TaskError(
            f"{folder} holds no file of {', '.join(FORMATS)}; correct the files of the source."
        )
    return found


def _lines(path: Path, part: Part) -> Iterator[tuple[str, JsonValue | str]]:
    """The records whose first byte is in the piece, each named by the place of that byte."""
    with _opened(path) as file:
        start = part.start
        if start:
            file.seek(start - 1)
            start += _skip(file) - 1
        stop = part.stop if path.suffix != ".gz" else None
        while stop is None or start < stop:
            try:
                line = file.readline(MAX_LINE + 1)
                size = len(line) if line.endswith(b"\n") else len(line) + _skip(file)
            except (EOFError, OSError, zlib.error) as error:
                yield f"@{start}", f"unreadable: {error}; what follows is lost"
                return
            if not line:
                return
            if len(line) > MAX_LINE:
                yield f"@{start}", f"too_large: a record takes {size:,} bytes, limit {MAX_LINE:,}"
            elif line.strip():
                yield f"@{start}", _value(line)
            start += size


def _skip(file: io.BufferedIOBase) -> int:
    """Reads to the end of a line; how many bytes there were."""
    count = 0
    while chunk := file.readline(1 << 16):
        count += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return count


def _opened(path: Path) -> io.BufferedIOBase:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _value(line: bytes) -> JsonValue | str:
    try:
        value = loads(line.decode("utf-8-sig"), MAX_LINE)
    except ValueError as error:
        said = str(error) if not isinstance(error, UnicodeDecodeError) else "it is not UTF-8"
        return f"bad_json: {said[:200]}"
    return _text_is_no_record(value)


def _text_is_no_record(value: JsonValue) -> JsonValue | str:
    return "not_an_object: got str, expected an object" if isinstance(value, str) else value


def _array(path: Path) -> Iterator[tuple[str, JsonValue | str]]:
    try:
        values = loads(path.read_bytes().decode("utf-8-sig"), MAX_FILE)
    except ValueError as error:
        yield "0", f"bad_json: {str(error)[:200]}"
        return
    for place, value in enumerate(values if isinstance(values, list) else [values]):
        yield str(place), _text_is_no_record(value)


def _row_groups(path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path).num_row_groups
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise TaskError(
            f"{path} is no Parquet file ({said}); give the file that you mean."
        ) from None


def _parquet(path: Path, group: int) -> Iterator[tuple[str, JsonValue | str]]:
    """The rows of a row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = 0
    with pq.ParquetFile(path) as file:
        try:
            for batch in file.iter_batches(_BATCH, row_groups=[group]):
                for row in _rows(batch):
                    yield f"{group}.{place}", row
                    place += 1
        except (pa.ArrowException, OSError) as error:
            said = str(error).splitlines()[0][:200]
            yield f"{group}.{place}", f"unreadable: {said}; the rest of the row group is lost"


def _rows(batch: "pa.RecordBatch") -> list[JsonValue]:
    """The rows without their nulls: a struct has one for each field that another row has."""
    try:
        return [_without_nulls(row) for row in batch.to_pylist()]
    except (ValueError, OverflowError) as error:
        if batch.num_rows == 1:
            return [f"unreadable: {str(error)[:200]}"]
    return [row for n in range(batch.num_rows) for row in _rows(batch.slice(n, 1))]


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
