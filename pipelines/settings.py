"""What comes from the environment: addresses, secrets and the cache. Read here and nowhere else.

It also sets the switches that keep our parts quiet, offline and fast. They read them when they are
imported, so a heavy part is imported inside the function that uses it, after `calm`.
"""

import os
from pathlib import Path

from envace.artifacts import Cache
from envace.config import Config
from pipelines import stage

QUIET = {
    "DO_NOT_TRACK": "1",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "OMP_WAIT_POLICY": "PASSIVE",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "TOKENIZERS_PARALLELISM": "false",
}


def calm() -> None:
    """Sets the switches that the user has not set."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


class Settings(Config):
    """Where things are for this machine and this user."""

    cache: Path
    """Fetched and converted files, by hash; ENVACE_CACHE, by default in the user's cache."""
    tracking_uri: str
    """Of MLflow; MLFLOW_TRACKING_URI, by default a sqlite file under state/."""
    s3_endpoint: str | None
    """Of s3:// sources; AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, by default Amazon's."""

    @classmethod
    def load(cls) -> "Settings":
        """The settings of the current environment."""
        user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        return cls(
            cache=Path(os.environ.get("ENVACE_CACHE") or user / "envace"),
            tracking_uri=os.environ.get("MLFLOW_TRACKING_URI") or "sqlite:///state/mlflow.db",
            s3_endpoint=endpoint or None,
        )

    def sources(self) -> Cache:
        """The cache of source URIs; it says what it fetches."""
        return Cache(self.cache, s3_endpoint=self.s3_endpoint, progress=stage.Fetching())
