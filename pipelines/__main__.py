"""`python -m pipelines STAGE`: runs one stage; dvc.yaml calls it, in the order it owns."""

import importlib
import sys

from envace.config import nearest
from envace.errors import ConfigError
from pipelines import dag, stage
from pipelines.settings import calm


def main(words: list[str]) -> None:
    """Runs the stage that `words` names; a name that dvc.yaml does not have is one sentence."""
    try:
        known = dag.stages(stage.DVC_YAML)
    except ConfigError as error:
        sys.exit(f"pipelines: {error}")
    if len(words) != 1:
        sys.exit(f"pipelines: got {len(words)} words, expected one stage; {nearest('', known)}")
    (name,) = words
    if name not in known:
        sys.exit(f"pipelines: there is no stage '{name}'; {nearest(name, known)}")
    calm()
    stage.run(name, lambda: importlib.import_module(f"pipelines.{name}").main())


if __name__ == "__main__":
    main(sys.argv[1:])
