"""Tasks and rejections as rows of Parquet files, zstd, in shards.

A task's nested parts are kept as JSON text, so that any Parquet reader can show them, beside small
columns by which tasks can be chosen and counted without being read.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from envace.episode import Message, Tool
from envace.strict_json import loads
from envace.tasks.task import ChecklistItem, Task

BATCH = 256
"""Rows that are in memory at once, and rows a row group."""

TASK = pa.schema(
    [(name, pa.string()) for name in ("id", "source", "domain", "tier", "family", "system")]
    + [(name, pa.string()) for name in ("tools", "conversation", "checklists")]
)
NESTED = ("tools", "conversation", "checklists")
"""Columns of a task that are JSON."""
FACTS = pa.schema(
    [("language", pa.string())]
    + [(name, pa.int32()) for name in ("n_turns", "n_calls", "n_tools", "n_tokens")]
)
"""What is counted of it; `n_tokens` is null on the held-out side."""
KEPT = pa.schema([*TASK, *FACTS])
"""A task that was kept."""
REJECTED = pa.schema([(name, pa.string()) for name in ("source", "record", "reason")])
EXAMINED = pa.schema(
    [
        *TASK,
        *FACTS,
        pa.field("reason", pa.string()),  # null for a task that may be kept
        pa.field("held_out", pa.bool_()),
        pa.field("trimmed", pa.bool_()),
        pa.field("content", pa.binary()),
        pa.field("sketch", pa.binary()),
        pa.field("definitions", pa.list_(pa.binary())),  # of its tools, in their order
        pa.field("names", pa.list_(pa.binary())),  # of its tools, where each is a family
        pa.field("pii", pa.string()),
    ]
)
"""A record between the two steps of curation; of a rejected one `id`, `source`, `reason` alone."""
LIGHT = [name for name in EXAMINED.names if name not in ("system", *NESTED)]
"""Its small columns."""

Row = Mapping[str, Any]


_TOOLS = TypeAdapter(tuple[Tool, ...])
_MESSAGES = TypeAdapter(tuple[Message, ...])
_CHECKLISTS = TypeAdapter(tuple[tuple[ChecklistItem, ...], ...])


def columns_of(task: Task) -> Row:
    """The task as the columns of `TASK`."""
    return {
        "id": task.id,
        "source": task.source,
        "domain": task.domain,
        "tier": task.tier,
        "family": task.family,
        "system": task.system,
        "tools": _TOOLS.dump_json(task.tools).decode(),
        "conversation": _MESSAGES.dump_json(task.conversation).decode(),
        "checklists": _CHECKLISTS.dump_json(task.checklists).decode(),
    }


def task_of(row: Row) -> Task:
    """The task of a row. Raises `ValueError` (pydantic's too) when it does not hold."""
    plain = {name: row[name] for name in TASK.names if name not in NESTED}
    return Task.model_validate({**plain, **{name: loads(row[name]) for name in NESTED}})


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Row]) -> int:
    """Writes the rows a batch at a time, whole or not at all; returns how many there were."""
    temp = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    count = 0
    try:
        with pq.ParquetWriter(temp, schema, compression="zstd") as writer:
            for batch in _batches(rows):
                writer.write_table(pa.Table.from_pylist(batch, schema))
                count += len(batch)
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)
    return count


def read_rows(paths: Iterable[Path], columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of the files in order, a batch at a time."""
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                yield from batch.to_pylist()


@dataclass
class Shards:
    """Files `part-00000.parquet` and so on of one folder; rows are added one at a time.

    There is at least one file, so that a side without tasks has its columns too.
    """

    folder: Path
    schema: pa.Schema
    size: int
    """Rows a file."""
    _number: int = 0
    _rows: int = 0
    _batch: list[Row] = field(default_factory=list[Row])
    _writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._batch or not self._number:
            self._flush()
        self._close()

    def add(self, row: Row) -> None:
        """Adds a row; columns that the schema does not name are left out."""
        self._batch.append(row)
        self._rows += 1
        if len(self._batch) == BATCH or self._rows == self.size:
            self._flush()
        if self._rows == self.size:
            self._close()

    def _flush(self) -> None:
        if self._writer is None:
            path = self.folder / f"part-{self._number:05}.parquet"
            self._writer = pq.ParquetWriter(path, self.schema, compression="zstd")
            self._number += 1
        self._writer.write_table(pa.Table.from_pylist(self._batch, self.schema))
        self._batch = []

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._rows = None, 0


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch
