"""Tasks and rejections at rest: folders of Parquet shards, written whole or not at all.

A folder is read as a sequence of tasks, of which a few row groups are in memory at a time, so that
training on a million tasks takes no more memory than on a thousand.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import overload

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from envace.errors import TaskError
from envace.files import replace_folder, scratch_beside
from envace.tasks.rows import REJECTED, TASK, Row, Shards, columns_of, task_of
from envace.tasks.source import Rejected
from envace.tasks.task import Task

SHARD = 5_000
"""Tasks a file."""
CACHED = 8
"""Row groups that are kept in memory."""


class Tasks(Sequence[Task]):
    """The tasks of a folder, in order, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        """Reads only the footers. Raises `TaskError` when the folder holds no shards."""
        self.folder = folder
        groups: list[tuple[Path, int]] = []
        rows: list[int] = []
        for path in shards(folder):
            footer = _opened(path).metadata
            groups += [(path, number) for number in range(footer.num_row_groups)]
            rows += [footer.row_group(n).num_rows for n in range(footer.num_row_groups)]
        self._groups, self._ends = groups, [*accumulate(rows)]
        self._read = lru_cache(maxsize=CACHED)(_group)

    def __len__(self) -> int:
        """How many there are."""
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...
    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        """One task, or some of them. Raises `TaskError` for one that does not hold."""
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        number = range(len(self))[index]
        group = bisect_right(self._ends, number)
        start = self._ends[group - 1] if group else 0
        return self._read(*self._groups[group])[number - start]


def read_tasks(folder: Path) -> Tasks:
    """The tasks that `write_tasks` or a curation put into `folder`."""
    return Tasks(folder)


def write_tasks(folder: Path, tasks: Iterable[Task], size: int = SHARD) -> None:
    """Replaces `folder` by `tasks`, `size` a shard."""
    with scratch_beside(folder) as temp:
        with Shards(temp / "new", TASK, size) as written:
            for task in tasks:
                written.add(columns_of(task))
        replace_folder(temp / "new", folder)


def read_rejected(folder: Path) -> Iterator[Rejected]:
    """Every rejection of a folder, in order."""
    for path in shards(folder):
        for batch in _opened(path).iter_batches(columns=REJECTED.names):
            yield from (Rejected(**row) for row in batch.to_pylist())


def table(folder: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of all shards."""
    return pa.concat_tables(_opened(path).read(columns=[*columns]) for path in shards(folder))


def shards(folder: Path) -> list[Path]:
    """The files of a folder, in order. Raises `TaskError` when there is none."""
    if not (found := sorted(folder.glob("part-*.parquet"))):
        raise TaskError(f"{folder} holds no tasks; run the stage that writes it.")
    return found


def _group(path: Path, number: int) -> tuple[Task, ...]:
    rows = _opened(path).read_row_group(number, columns=TASK.names).to_pylist()
    return tuple(_task(row, f"{path}, row group {number}, row {at}") for at, row in enumerate(rows))


def _task(row: Row, where: str) -> Task:
    try:
        return task_of(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the record"
        got = f"{field} is wrong ({first['msg'].lower()})"
    except ValueError as error:
        got = f"it is not JSON ({error})"
    raise TaskError(f"{where}: {got}; expected a task; run the stage that writes it.")


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise TaskError(
            f"{path} is no Parquet file ({said}); run the stage that writes it."
        ) from None
