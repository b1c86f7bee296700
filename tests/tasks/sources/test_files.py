"""Records from files: every format, every quirk, and pieces that add up to the whole."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envace.artifacts import Cache
from envace.errors import ConfigError, HashMismatch, TaskError
from envace.files import sha256_of
from envace.tasks.sources._files import MAX_FILE, MAX_LINE, File, Files


def files(path: Path, part_bytes: int = 1 << 20, **fields: Any) -> Files:
    return Files((File(path=path, **fields),), Cache(path.parent / "cache"), part_bytes)


def rows(source: Files) -> list[tuple[str, Any]]:
    return [row for part in source.parts() for row in source.rows(part)]


def written(folder: Path, name: str, data: bytes) -> Files:
    (folder / name).write_bytes(data)
    return files(folder / name)


def test_a_line_is_a_record_named_by_its_first_byte(tmp_path: Path) -> None:
    found = rows(written(tmp_path, "a.jsonl", b'{"n": 1}\n{"n": 2}'))
    assert found == [("a.jsonl:@0", {"n": 1}), ("a.jsonl:@9", {"n": 2})]


def test_marks_carriage_returns_and_empty_lines_are_no_trouble(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"n": 1}\r\n\r\n  \n{"n": 2}\r\n'
    assert [row for _, row in rows(written(tmp_path, "a.jsonl", data))] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"n": ', "bad_json: "),
        (b'{"n": NaN}', "bad_json: NaN is not JSON"),
        (b'{"n": "\\ud800"}', "bad_json: "),
        (b'{"n": "\xff"}', "bad_json: it is not UTF-8"),
        (b'{"n": 1, "n": 2}', "bad_json: a key stands twice in one object"),
        (b"[" * 10_000, "bad_json: nested deeper than 64"),
        (b"[1]", "not_an_object: got list, expected an object"),
        (b'"text"', "not_an_object: got str, expected an object"),
        (b"null", "not_an_object: got NoneType, expected an object"),
    ],
)
def test_a_bad_line_is_a_reason_and_the_next_is_read(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    (place, got), (_, after) = rows(written(tmp_path, "a.jsonl", line + b'\n{"n": 1}\n'))
    assert (place, after) == ("a.jsonl:@0", {"n": 1})
    assert got.startswith(reason)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, name: str) -> None:
    data = b'{"t": "' + b"x" * (2 * MAX_LINE) + b'"}\n{"n": 1}\n'
    packed = gzip.compress(data, 1) if name.endswith(".gz") else data
    (_, got), (place, after) = rows(written(tmp_path, name, packed))
    assert got == "too_large: a record takes 8,388,618 bytes, limit 4,194,304"
    assert (place, after) == (f"{name}:@8388618", {"n": 1})


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=9)),
    end=st.sampled_from(["", "\n"]),
    part_bytes=st.integers(1, 40),
)
def test_pieces_of_any_size_hold_every_record_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, part_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "a.jsonl"
    path.write_bytes(("\n".join(json.dumps({"t": t}) if t else t for t in lines) + end).encode())
    whole = rows(files(path))
    assert [row["t"] for _, row in whole] == [text for text in lines if text]
    assert rows(files(path, part_bytes)) == whole


def test_a_gzipped_file_is_one_piece(tmp_path: Path) -> None:
    source = written(tmp_path, "a.jsonl.gz", gzip.compress(b'{"n": 1}\n{"n": 2}\n'))
    assert len(source.parts()) == 1
    assert rows(source) == [("a.jsonl.gz:@0", {"n": 1}), ("a.jsonl.gz:@9", {"n": 2})]


@pytest.mark.parametrize("where", [0, 3, 40, -8])
def test_a_broken_gzipped_file_ends_with_a_reason(tmp_path: Path, where: int) -> None:
    data = bytearray(gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(999))))
    data[where] ^= 0xFF
    assert rows(written(tmp_path, "a.jsonl.gz", bytes(data)))[-1][1].startswith("unreadable: ")


def test_a_gzipped_file_that_ends_early_says_so(tmp_path: Path) -> None:
    data = gzip.compress(b'{"n": 1}\n' * 99)[:-9]
    assert rows(written(tmp_path, "a.jsonl.gz", data))[-1][1].startswith("unreadable: Compressed")


def test_an_array_is_read_as_a_whole(tmp_path: Path) -> None:
    found = rows(written(tmp_path, "a.json", b'[{"n": 1}, 2, "x"]'))
    assert found == [
        ("a.json:0", {"n": 1}),
        ("a.json:1", "not_an_object: got int, expected an object"),
        ("a.json:2", "not_an_object: got str, expected an object"),
    ]
    assert rows(written(tmp_path, "b.json", b"[1"))[0][1].startswith("bad_json: ")


def test_an_array_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    with pytest.raises(TaskError, match="convert it to JSON Lines"):
        files(tmp_path / "a.json").parts()


def test_parquet_is_read_by_row_group_and_nulls_are_absent(tmp_path: Path) -> None:
    records = [
        {"messages": [{"role": "user", "content": None}], "tools": '[{"a": null}]'},
        {"messages": [{"role": "tool", "content": "x", "name": "f"}], "tools": None},
        {"messages": [], "tools": "[]"},
    ]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet", row_group_size=2)
    source = files(tmp_path / "a.parquet")
    assert len(source.parts()) == 2
    assert rows(source) == [
        ("a.parquet:0.0", {"messages": [{"role": "user"}], "tools": '[{"a": null}]'}),
        ("a.parquet:0.1", {"messages": [{"role": "tool", "content": "x", "name": "f"}]}),
        ("a.parquet:1.0", {"messages": [], "tools": "[]"}),
    ]


def test_a_row_that_is_no_text_is_a_reason_and_the_next_is_read(tmp_path: Path) -> None:
    bad = pa.array([b"\xff", b"fine"]).view(pa.string())
    pq.write_table(pa.table({"t": bad}), tmp_path / "a.parquet")
    (_, reason), after = rows(files(tmp_path / "a.parquet"))
    assert reason.startswith("unreadable: 'utf-8' codec can't decode")
    assert after == ("a.parquet:0.1", {"t": "fine"})


def test_a_page_that_is_broken_is_a_reason(tmp_path: Path) -> None:
    table = pa.table({"t": [f"text {n}" for n in range(99)]})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[60:90] = bytes(30)
    (_, reason), *_ = rows(written(tmp_path, "a.parquet", bytes(data)))
    assert reason.startswith("unreadable: ")


def test_what_is_no_parquet_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no Parquet file"):
        written(tmp_path, "a.parquet", b"PAR1").parts()


def test_a_folder_stands_for_its_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "logs" / "old").mkdir(parents=True)
    for name in ("b.jsonl", "old/a.jsonl", ".hidden.jsonl", "notes.txt"):
        (tmp_path / "logs" / name).write_text(f'{{"in": "{name}"}}\n')
    assert rows(files(tmp_path / "logs")) == [
        ("b.jsonl:@0", {"in": "b.jsonl"}),
        ("old/a.jsonl:@0", {"in": "old/a.jsonl"}),
    ]


def test_a_folder_without_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="holds no file of"):
        files(tmp_path / "logs").parts()


def test_a_file_at_a_uri_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n": 1}\n')
    uri, digest = f"file://{tmp_path}/a.jsonl", sha256_of(tmp_path / "a.jsonl")
    pinned = File(uri=uri, sha256=digest)
    assert rows(Files((pinned,), Cache(tmp_path / "cache"))) == [("a.jsonl:@0", {"n": 1})]
    other = File(uri=uri, sha256="0" * 64)
    with pytest.raises(HashMismatch):
        Files((other,), Cache(tmp_path / "cache")).parts()


def test_a_path_may_be_pinned_too(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n": 1}\n')
    with pytest.raises(TaskError, match="pin the file you mean"):
        files(tmp_path / "a.jsonl", sha256="0" * 64).parts()


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="there is no file"):
        files(tmp_path / "a.jsonl").parts()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "has a path or a uri, and not both"),
        ({"path": "a.jsonl", "uri": "file:///a.jsonl"}, "has a path or a uri, and not both"),
        ({"uri": "file:///a.jsonl"}, "has no sha256"),
        ({"path": "a.csv"}, "'a.csv' is none of"),
        ({"path": "logs", "sha256": "0" * 64}, "is a folder"),
    ],
)
def test_a_file_is_named_in_one_way(fields: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        File.read(fields, "files.0")


def test_the_key_of_a_piece_is_the_hash_of_its_file(tmp_path: Path) -> None:
    source = written(tmp_path, "a.jsonl", b'{"n": 1}\n')
    before = source.parts()
    assert pickle.loads(pickle.dumps(source)).parts() == before
    assert before[0].key == sha256_of(tmp_path / "a.jsonl")
    assert written(tmp_path, "a.jsonl", b'{"n": 2}\n').parts()[0].key != before[0].key
