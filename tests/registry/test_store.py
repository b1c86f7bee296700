import json
import shutil
from pathlib import Path

import pytest

from envace.errors import RegistryError
from envace.files import digest_of
from envace.registry.store import put, verify


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model" / "sub").mkdir(parents=True)
    (tmp_path / "model" / "weights.safetensors").write_bytes(b"1234")
    (tmp_path / "model" / "sub" / "config.json").write_bytes(b"{}")
    return tmp_path / "model"


def overwrite(file: Path, data: bytes) -> None:
    file.chmod(0o644)
    file.write_bytes(data)


def test_a_model_is_stored_under_its_digest_with_a_manifest_of_every_file(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    assert stored.path == tmp_path / "store" / digest_of(folder)
    assert stored.digest == stored.path.name
    assert [(file.name, file.size) for file in stored.files] == [
        ("sub/config.json", 2),
        ("weights.safetensors", 4),
    ]
    assert (stored.path / "weights.safetensors").read_bytes() == b"1234"


def test_putting_it_again_does_nothing(folder, tmp_path):
    first = put(folder, tmp_path / "store")
    made = first.path.stat().st_mtime_ns
    assert put(folder, tmp_path / "store") == first
    assert first.path.stat().st_mtime_ns == made
    assert [path.name for path in (tmp_path / "store").iterdir()] == [first.digest]


def test_stored_files_are_read_only_and_share_no_bytes_with_the_training_folder(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    with (folder / "weights.safetensors").open("r+b") as file:
        file.write(b"9")
    verify(stored.path)
    modes = {path.stat().st_mode & 0o777 for path in stored.path.rglob("*") if path.is_file()}
    assert modes == {0o444}


@pytest.mark.parametrize(
    ("data", "sentence"), [(b"12345", "has 5 bytes, expected 4"), (b"1235", "has sha256")]
)
def test_a_changed_file_is_named(folder, tmp_path, data: bytes, sentence: str):
    stored = put(folder, tmp_path / "store")
    overwrite(stored.path / "weights.safetensors", data)
    with pytest.raises(RegistryError, match=f"weights.safetensors {sentence}"):
        verify(stored.path)


def test_a_missing_and_an_extra_file_are_named(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    (stored.path / "evil.bin").write_bytes(b"")
    with pytest.raises(RegistryError, match=r"evil\.bin is not in its manifest"):
        verify(stored.path)
    (stored.path / "sub" / "config.json").unlink()
    with pytest.raises(RegistryError, match=r"config\.json is not there"):
        verify(stored.path)


def test_a_manifest_that_was_changed_with_its_file_does_not_hash_to_the_digest(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    manifest = json.loads((stored.path / "manifest.json").read_text())
    manifest["files"][1]["sha256"] = "0" * 64
    overwrite(stored.path / "manifest.json", json.dumps(manifest).encode())
    with pytest.raises(RegistryError, match="not to its folder's name"):
        verify(stored.path)


def test_a_manifest_that_leaves_its_folder_is_refused(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    text = (stored.path / "manifest.json").read_text()
    overwrite(stored.path / "manifest.json", text.replace("sub/config", "../config").encode())
    with pytest.raises(RegistryError, match="outside its folder"):
        verify(stored.path)


def test_a_stored_model_that_went_bad_is_not_taken_for_the_new_one(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    overwrite(stored.path / "weights.safetensors", b"0000")
    with pytest.raises(RegistryError, match=r"remove .* and register that model again"):
        put(folder, tmp_path / "store")


def test_what_is_not_the_folder_of_one_model_is_refused(folder, tmp_path):
    with pytest.raises(RegistryError, match="no folder"):
        put(tmp_path / "absent", tmp_path / "store")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegistryError, match="is empty"):
        put(tmp_path / "empty", tmp_path / "store")
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(RegistryError, match="symbolic link"):
        put(folder, tmp_path / "store")


def test_a_store_that_was_moved_still_verifies(folder, tmp_path):
    stored = put(folder, tmp_path / "store")
    moved = shutil.move(stored.path, tmp_path / stored.digest)
    verify(Path(moved))
