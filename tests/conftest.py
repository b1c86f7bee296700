"""For all tests: one thread, and no library that asks a hub or reports home."""

import os

os.environ.update(
    OMP_NUM_THREADS="1",
    HF_HUB_OFFLINE="1",
    DO_NOT_TRACK="1",
    DVC_NO_ANALYTICS="1",
    GX_ANALYTICS_ENABLED="false",
    MLFLOW_DISABLE_TELEMETRY="true",
    PREFECT_SERVER_ANALYTICS_ENABLED="false",
)
