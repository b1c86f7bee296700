"""Versions and aliases in MLflow; the bytes stay in the store.

One idea: a version is a number, a digest and where the bytes of that digest are. MLflow accepts a
version of bytes that do not exist and never looks again, so the bytes are verified first, and an
alias is read back after it was set.
"""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from envace.errors import RegistryError
from envace.registry.store import Stored, verify

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

CHAMPION = "champion"
"""The alias of the live version."""

_DIGEST = "digest"
"""The tag that holds a version's digest."""


@dataclass(frozen=True)
class Version:
    """One registered model."""

    number: int
    digest: str
    path: Path
    """Its folder in the store."""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its lineage."""
    created: int = 0
    """When it was registered, milliseconds since 1970."""


class Registry:
    """The versions of one model name."""

    def __init__(self, tracking_uri: str, name: str) -> None:
        if not re.fullmatch(r"[\w.-]+", name):
            raise RegistryError(
                f"'{name}' cannot name a model; use letters, digits, '.', '_' and '-'."
            )
        self.name = name
        self._uri = tracking_uri

    def register(
        self,
        stored: Stored,
        tags: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        metrics: Mapping[str, float] | None = None,
    ) -> Version:
        """A new version of the verified bytes, or the one that these bytes have already.

        `tags` are its lineage: data hash, params hash, code commit, base, parent version. Bytes
        that are registered already keep the lineage they came with.
        `params` and `metrics` describe the run that made it.
        """
        verify(stored.path)
        with self._asking():
            self._ensure_name()
            query = f"name = '{self.name}' and tags.{_DIGEST} = '{stored.digest}'"
            if found := list(self._client.search_model_versions(query)):
                return min((_version(each) for each in found), key=lambda each: each.number)
            run_id = self._log_run(stored.digest, params or {}, metrics or {})
            made = self._client.create_model_version(
                self.name,
                source=stored.path.as_uri(),
                run_id=run_id,
                tags={**tags, _DIGEST: stored.digest},
            )
            return _version(made)

    def version(self, number: int) -> Version:
        """The version with this number."""
        with self._asking():
            return _version(self._client.get_model_version(self.name, str(number)))

    def alias(self, alias: str) -> Version | None:
        """The version that the alias names, None when it names none."""
        from mlflow.exceptions import MlflowException

        with self._asking():
            try:
                aliases = self._client.get_registered_model(self.name).aliases
            except MlflowException as error:
                if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                    return None
                raise
            number = aliases.get(alias)
        return None if number is None else self.version(int(number))

    def set_alias(self, alias: str, number: int) -> Version:
        """Lets the alias name this version, and reads it back."""
        with self._asking():
            self._client.set_registered_model_alias(self.name, alias, str(number))
        found = self.alias(alias)
        if found is None or found.number != number:
            got = f"version {found.number}" if found else "no version"
            raise RegistryError(
                f"alias '{alias}' was set to version {number} but names {got}; "
                "somebody else sets it too: find out who, then promote again."
            )
        return found

    def written_since(self, file: Path) -> bool:
        """May anything have been written here after `file` was? Only of a local database can it be
        told that nothing was; that is quick, where asking MLflow takes seconds."""
        try:
            return not self._database or (
                self._database.stat().st_mtime_ns > file.stat().st_mtime_ns
            )
        except FileNotFoundError:
            return True

    @property
    def _database(self) -> Path | None:
        """The file that MLflow keeps everything in, if it does."""
        local = self._uri.startswith("sqlite:///")
        return Path(urlsplit(self._uri).path[1:]) if local else None

    @cached_property
    def _client(self) -> "MlflowClient":
        from mlflow.tracking import MlflowClient

        if self._database:
            self._database.parent.mkdir(parents=True, exist_ok=True)
        return MlflowClient(self._uri, self._uri)

    def _ensure_name(self) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(self.name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    def _log_run(self, digest: str, params: Mapping[str, str], metrics: Mapping[str, float]) -> str:
        """The run that the version belongs to: its params and final metrics."""
        from mlflow.entities import Metric, Param

        client = self._client
        experiment = client.get_experiment_by_name(self.name)
        found = experiment.experiment_id if experiment else client.create_experiment(self.name)
        run = client.create_run(found, tags={_DIGEST: digest}).info
        client.log_batch(
            run.run_id,
            metrics=[Metric(name, value, run.start_time, 0) for name, value in metrics.items()],
            params=[Param(name, value) for name, value in params.items()],
        )
        client.set_terminated(run.run_id)
        return run.run_id

    @contextmanager
    def _asking(self) -> Generator[None]:
        """The boundary to MLflow: what goes wrong there is a `RegistryError`."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except MlflowException as error:
            first = str(error).strip().split("\n")[0]
            where = re.sub(r"//[^/]*@", "//", self._uri)
            raise RegistryError(f"the registry at {where} refused '{self.name}': {first}") from None


def _version(found: "ModelVersion") -> Version:
    """A version as MLflow gives it; its number is an int from SQLite and a string from REST."""
    source, tags = urlsplit(found.source or ""), dict(found.tags)
    if source.scheme != "file" or _DIGEST not in tags:
        raise RegistryError(
            f"version {found.version} of '{found.name}' was not registered by envace: "
            "it has no digest or no file URI; delete it in MLflow."
        )
    digest, path = tags.pop(_DIGEST), Path(url2pathname(source.path))
    return Version(int(found.version), digest, path, tags, found.creation_timestamp or 0)
