from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from envace.errors import RegistryError
from envace.registry.models import Registry
from envace.registry.store import Stored, put

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/not/there/yet/mlflow.db"


@pytest.fixture
def registry(uri: str, request: pytest.FixtureRequest) -> Registry:
    return Registry(uri, request.node.name)


def store(tmp_path: Path, weights: bytes) -> Stored:
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "weights.safetensors").write_bytes(weights)
    return put(folder, tmp_path / "store")


def test_a_version_carries_its_digest_path_and_lineage(registry, tmp_path):
    stored = store(tmp_path, b"1")
    version = registry.register(stored, {"base": "smol", "commit": "abc"})
    assert (version.number, version.digest, version.path) == (1, stored.digest, stored.path)
    assert version.tags == {"base": "smol", "commit": "abc"}
    assert registry.version(1) == version


def test_registering_the_same_bytes_again_gives_the_version_they_have(registry, tmp_path):
    first = registry.register(store(tmp_path, b"1"), {"base": "smol"})
    second = registry.register(store(tmp_path, b"2"), {"parent": "1"})
    assert (first.number, second.number) == (1, 2)
    assert registry.register(store(tmp_path, b"1"), {"base": "other"}) == first


def test_bytes_that_do_not_verify_get_no_version(registry, tmp_path):
    stored = store(tmp_path, b"1")
    (stored.path / "weights.safetensors").chmod(0o644)
    (stored.path / "weights.safetensors").write_bytes(b"0")
    with pytest.raises(RegistryError, match="sha256"):
        registry.register(stored, {})
    with pytest.raises(RegistryError, match="refused"):
        registry.version(1)


def test_an_alias_is_read_back(registry, tmp_path):
    version = registry.register(store(tmp_path, b"1"), {})
    assert registry.alias("champion") is None
    assert registry.set_alias("champion", 1) == version
    assert registry.alias("champion") == version


def test_an_alias_of_a_model_without_versions_names_none(registry):
    assert registry.alias("champion") is None


def test_an_alias_of_a_version_that_is_not_there_is_refused(registry, tmp_path):
    registry.register(store(tmp_path, b"1"), {})
    with pytest.raises(RegistryError, match="refused"):
        registry.set_alias("champion", 7)


def test_an_alias_whose_version_was_deleted_names_none(registry, uri, tmp_path):
    registry.register(store(tmp_path, b"1"), {})
    registry.set_alias("champion", 1)
    MlflowClient(uri, uri).delete_model_version(registry.name, "1")
    assert registry.alias("champion") is None


def test_a_version_has_a_run_with_its_params_and_metrics(registry, uri, tmp_path):
    registry.register(store(tmp_path, b"1"), {}, {"train.lr": "1e-5"}, {"reward/mean": 0.5})
    client = MlflowClient(uri, uri)
    run = client.get_run(client.get_model_version(registry.name, "1").run_id)
    assert (run.data.params, run.data.metrics) == ({"train.lr": "1e-5"}, {"reward/mean": 0.5})
    assert run.info.status == "FINISHED"


def test_a_version_that_somebody_else_registered_is_not_trusted(registry, uri, tmp_path):
    client = MlflowClient(uri, uri)
    client.create_registered_model(registry.name)
    client.create_model_version(registry.name, source="s3://nowhere/model")
    with pytest.raises(RegistryError, match="not registered by envace"):
        registry.version(1)


def test_a_local_registry_tells_whether_it_was_written_since_a_file_was(uri, registry, tmp_path):
    registry.register(store(tmp_path, b"1"), {})
    file = tmp_path / "decision.json"
    file.touch()
    assert not registry.written_since(file)
    registry.set_alias("champion", 1)
    assert registry.written_since(file)
    assert registry.written_since(tmp_path / "gone.json")
    assert Registry("http://127.0.0.1:9", "model").written_since(file)


def test_a_file_store_and_a_bad_name_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(RegistryError, match="refused 'model'"):
        Registry(f"file://{tmp_path}/mlruns", "model").alias("champion")
    with pytest.raises(RegistryError, match="cannot name a model"):
        Registry(f"sqlite:///{tmp_path}/m.db", "it's")
