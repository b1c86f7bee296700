"""For all tests: one thread, and parts that are quiet and offline."""

import os

import pipelines.settings

os.environ["OMP_NUM_THREADS"] = "1"
pipelines.settings.calm()
