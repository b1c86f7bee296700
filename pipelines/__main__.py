"""`python -m pipelines STAGE`: runs one stage; dvc.yaml calls it, in the order it owns."""

import importlib
import sys

from pipelines import stage
from pipelines.settings import calm

if __name__ == "__main__":
    name = sys.argv[1]
    calm()
    stage.run(name, lambda: importlib.import_module(f"pipelines.{name}").main())
