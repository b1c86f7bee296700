"""Source URIs are fetched once, verified, resumed; real servers, no network."""

import hashlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from envace.artifacts import Cache, parse
from envace.errors import ConfigError, HashMismatch, SourceUnreachable
from envace.files import digest_of, replace_folder, sha256_of, write_atomically

BODY = b"0123456789" * 300_000
SHA = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves `files`, with ranges; a path that ends in `.cut` breaks off in the middle once."""

    def __init__(self, files: dict[str, bytes], asked: list[str], *args: Any) -> None:
        self.files, self.asked = files, asked
        super().__init__(*args)

    def do_GET(self) -> None:
        span = self.headers.get("Range", "")
        self.asked.append(f"{self.path} {span}".strip())
        body = self.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = int(span.removeprefix("bytes=").removesuffix("-") or 0)
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.path.endswith(".cut") and not start
        self.wfile.write(body[start : len(body) // 2 if cut else None])

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


class Web:
    """A local web server: what it serves, and what it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/a.bin": BODY, "/a.cut": BODY}
        self.asked: list[str] = []
        handler = partial(Handler, self.files, self.asked)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    thread = threading.Thread(target=web.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield web
    web.server.shutdown()
    thread.join()
    web.server.server_close()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def parts(cache: Cache) -> list[str]:
    return [path.name for path in cache.root.rglob("*.part")]


def fetches(uri: str, root: Path, processes: int, **environment: str) -> set[Path]:
    """Where so many processes at once, which share a cache, find the file."""
    code = (
        "import sys; from pathlib import Path; from envace.artifacts import Cache\n"
        "print(Cache(Path(sys.argv[1])).fetch(sys.argv[2], sys.argv[3]))"
    )
    command = [sys.executable, "-c", code, str(root), uri, SHA]
    env = {"PYTHONPATH": "components", **environment}
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=env) for _ in range(processes)]
    return {Path(run.communicate()[0].decode().strip()) for run in runs}


def test_a_file_is_fetched_once(web: Web, cache: Cache) -> None:
    path = cache.fetch(f"{web.url}/a.bin", SHA)
    assert path.read_bytes() == BODY
    assert path.relative_to(cache.root) == Path("sha256", SHA[:2], SHA, "a.bin")
    assert cache.fetch(f"{web.url}/a.bin", SHA) == path
    assert Cache(cache.root).fetch(f"{web.url}/a.bin", SHA) == path
    assert web.asked == ["/a.bin"]


def test_a_broken_download_is_resumed_where_it_broke_off(web: Web, cache: Cache) -> None:
    with pytest.raises(SourceUnreachable, match=r"broke off at 1500000 of 3000000 bytes"):
        cache.fetch(f"{web.url}/a.cut", SHA)
    assert parts(cache) == ["a.cut.part"]
    assert cache.fetch(f"{web.url}/a.cut", SHA).read_bytes() == BODY
    assert web.asked == ["/a.cut", "/a.cut bytes=1500000-"]
    assert parts(cache) == []


def test_what_is_fetched_is_told_before_its_first_byte_and_to_its_end(
    web: Web, tmp_path: Path
) -> None:
    told: list[tuple[str, int, int | None]] = []
    cache = Cache(tmp_path, progress=lambda uri, done, total: told.append((uri, done, total)))
    cache.fetch(uri := f"{web.url}/a.bin", SHA)
    assert (told[0], told[-1]) == ((uri, 0, None), (uri, 3_000_000, 3_000_000))
    told.clear()
    cache.fetch(uri, SHA)
    assert told == []


def test_a_stale_part_is_fetched_anew(web: Web, cache: Cache) -> None:
    folder = cache.root / "sha256" / SHA[:2] / SHA
    folder.mkdir(parents=True)
    (folder / "a.bin.part").write_bytes(b"stale")
    assert cache.fetch(f"{web.url}/a.bin", SHA).read_bytes() == BODY
    assert web.asked == ["/a.bin bytes=5-", "/a.bin"]


def test_a_part_longer_than_the_source_is_fetched_anew(web: Web, cache: Cache) -> None:
    folder = cache.root / "sha256" / SHA[:2] / SHA
    folder.mkdir(parents=True)
    (folder / "a.bin.part").write_bytes(BODY + b"more")
    assert cache.fetch(f"{web.url}/a.bin", SHA).read_bytes() == BODY


def test_other_bytes_are_thrown_away(web: Web, cache: Cache) -> None:
    wrong = "0" * 64
    with pytest.raises(HashMismatch, match=f"a.bin has sha256 {SHA}, expected {wrong}"):
        cache.fetch(f"{web.url}/a.bin", wrong)
    assert list(cache.root.rglob("a.bin*")) == []


def test_a_damaged_cached_file_is_fetched_again(web: Web, cache: Cache) -> None:
    cache.fetch(f"{web.url}/a.bin", SHA).write_bytes(b"damaged")
    assert cache.fetch(f"{web.url}/a.bin", SHA).read_bytes() == BODY
    assert web.asked == ["/a.bin", "/a.bin"]


def test_a_missing_file_and_a_dead_host_are_one_sentence(web: Web, cache: Cache) -> None:
    with pytest.raises(SourceUnreachable, match=r"/none answered 404 Not Found\.$"):
        cache.fetch(f"{web.url}/none", SHA)
    with pytest.raises(SourceUnreachable, match=r"cannot be reached: .*refused"):
        cache.fetch("http://127.0.0.1:1/a.bin", SHA)
    with pytest.raises(SourceUnreachable, match="no file /nowhere/a"):
        cache.fetch("file:///nowhere/a", SHA)


@pytest.mark.parametrize(
    "uri",
    [
        *("a/b", "ftp://host/a", "pypi://name/x", "hf://name@rev", "s3://bucket", "https://host/"),
        *("file://name/x", "pypi://a==1/../x", "pypi://-r==1/x"),
    ],
)
def test_a_malformed_uri_is_refused_with_the_forms(uri: str, cache: Cache) -> None:
    with pytest.raises(ConfigError, match=r"(expected|look like one of: )"):
        cache.fetch(uri, SHA)


def test_a_hash_is_mandatory(cache: Cache) -> None:
    with pytest.raises(ConfigError, match="is '', expected 64 lower-case hex digits"):
        cache.fetch("file:///x", "")


def test_a_uri_is_read_into_its_parts() -> None:
    assert parse("hf://o/n@main/a/b.txt") == (
        "hf",
        {"repo": "o/n", "revision": "main", "path": "a/b.txt"},
    )
    assert parse("pypi://p==1.0/q/r")[1] == {"package": "p", "version": "1.0", "member": "q/r"}


def test_a_relative_file_is_taken_from_the_working_directory(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.txt").write_bytes(BODY)
    monkeypatch.chdir(tmp_path)
    assert cache.fetch("file://./x.txt", SHA).read_bytes() == BODY


def test_a_hub_file_comes_from_its_resolve_url(web: Web, tmp_path: Path) -> None:
    web.files["/o/n/resolve/main/dir/w.bin"] = BODY
    (run,) = fetches("hf://o/n@main/dir/w.bin", tmp_path, 1, HF_ENDPOINT=web.url)
    assert run.read_bytes() == BODY


def test_a_bucket_object_is_fetched_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        client = boto3.client("s3", endpoint_url=(url := f"http://{host}:{port}"))
        client.create_bucket(Bucket="models")
        client.put_object(Bucket="models", Key="k/a.bin", Body=BODY)
        cache = Cache(tmp_path, s3_endpoint=url)
        folder = tmp_path / "sha256" / SHA[:2] / SHA
        folder.mkdir(parents=True)
        (folder / "a.bin.part").write_bytes(BODY[:1000])
        assert cache.fetch("s3://models/k/a.bin", SHA).read_bytes() == BODY
        with pytest.raises(SourceUnreachable, match="s3://models/none cannot be read"):
            cache.fetch("s3://models/none", "0" * 64)
        client.close()
    finally:
        server.stop()


def wheel(folder: Path) -> None:
    """A wheel of the package `tiny`, written by hand."""
    folder.mkdir()
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as file:
        file.writestr("tiny/w.bin", BODY)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


def test_a_file_comes_out_of_a_wheel(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "wheels")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert cache.fetch("pypi://tiny==1.0/tiny/w.bin", SHA).read_bytes() == BODY
    name = "tiny-1.0-py3-none-any.whl"
    whole = (tmp_path / "wheels" / name).read_bytes()
    found = cache.fetch(f"pypi://tiny==1.0/{name}", hashlib.sha256(whole).hexdigest())
    assert found.read_bytes() == whole
    with pytest.raises(SourceUnreachable, match=r"tiny-1.0-py3-none-any.whl has no such file"):
        cache.fetch("pypi://tiny==1.0/tiny/none", "0" * 64)
    with pytest.raises(SourceUnreachable, match=r"No matching distribution found for tiny==2\.0"):
        cache.fetch("pypi://tiny==2.0/tiny/w.bin", "0" * 64)


def test_two_processes_at_once_fetch_it_once(web: Web, tmp_path: Path) -> None:
    (path,) = fetches(f"{web.url}/a.bin", tmp_path, 2)
    assert path.read_bytes() == BODY
    assert web.asked == ["/a.bin"]


def test_a_digest_depends_on_names_and_bytes_only(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "b").write_bytes(b"b")
        (tmp_path / name / "a").write_bytes(b"a")
    a, b = hashlib.sha256(b"a").hexdigest(), hashlib.sha256(b"b").hexdigest()
    by_hand = hashlib.sha256(f"a\0{a}\nsub/b\0{b}\n".encode()).hexdigest()
    assert digest_of(tmp_path / "one") == digest_of(tmp_path / "two") == by_hand
    (tmp_path / "two" / "a").rename(tmp_path / "two" / "c")
    assert digest_of(tmp_path / "two") != by_hand


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.txt"
    write_atomically(path, "é")
    assert sha256_of(path) == hashlib.sha256("é".encode()).hexdigest()
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert [file.name for file in path.parent.iterdir()] == ["x.txt"]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace_folder(tmp_path / "new", tmp_path / "old")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == [
        "old",
        "old/new",
    ]
