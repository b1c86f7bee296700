"""YAML as DVC reads it: version 1.2, so that `1e-6` is a float and `no` a string for both.

One idea: there is one reader. What DVC hashes as a parameter is what a stage runs with. Ours adds
only refusals: a document that is no mapping, and a number that is NaN or infinite.
"""

import math
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import ScalarNode

from envace.errors import ConfigError

_FLOAT = "tag:yaml.org,2002:float"


class _Finite(SafeConstructor):
    """ruamel's safe constructor; a float must be finite."""


def _finite(constructor: SafeConstructor, node: ScalarNode) -> float:
    value = constructor.construct_yaml_float(node)
    if not math.isfinite(value):
        raise MarkedYAMLError(
            problem=f"{node.value} is not a finite number", problem_mark=node.start_mark
        )
    return value


_Finite.add_constructor(_FLOAT, _finite)


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in `path`, empty for an empty file.

    Raises `ConfigError` (file, line, what) when it cannot be read or must not be trusted.
    """
    yaml = YAML(typ="safe")
    yaml.Constructor = _Finite
    try:
        document = yaml.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; create it.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8.") from None
    except YAMLError as error:
        raise ConfigError(_sentence(path, error)) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise ConfigError(f"{path} holds a {kind}, expected a mapping; write 'name: value' lines.")
    return document


def _sentence(path: Path, error: YAMLError) -> str:
    """One line: where the document went wrong, and how."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or str(error)
    where = f", line {mark.line + 1}" if mark is not None else ""
    return f"{path}{where}: {' '.join(str(what).split())}; correct it."
