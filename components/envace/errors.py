"""Every error this package raises, one tree, each also the builtin it refines.

    EnvaceError
    ├── ConfigError (ValueError)        a parameter is unknown, missing or out of range
    ├── PluginError (LookupError)       a plug-in name that no file carries
    ├── ArtifactError (OSError)         bytes from a source URI
    │   ├── SourceUnreachable           nothing answered, or it has no such file
    │   └── HashMismatch                the bytes are not the pinned ones
    ├── TaskError (ValueError)          a task record or data set that cannot be trusted
    ├── WorldError (RuntimeError)       a world or scenario that cannot be played or solved
    ├── PolicyError (RuntimeError)      a policy that cannot be loaded or asked
    ├── TrainingError (RuntimeError)    a run that must not go on
    ├── BenchmarkError (RuntimeError)   an evaluation that is incomplete or cannot run
    └── RegistryError (RuntimeError)    a version, alias or decision that does not hold

A message is one sentence each for: what was got, what was expected, what to do.
A malformed generation is not an error: it is data (`Fault` in `envace.episode`).
"""


class EnvaceError(Exception):
    """Root of the tree; the command line prints it as one line and exits with 1."""


class ConfigError(EnvaceError, ValueError):
    """A parameter is unknown, missing or out of range."""


class PluginError(EnvaceError, LookupError):
    """A plug-in name that no file carries."""


class ArtifactError(EnvaceError, OSError):
    """Bytes from a source URI could not be had or trusted."""


class SourceUnreachable(ArtifactError):
    """Nothing answered at the source, or it has no such file."""


class HashMismatch(ArtifactError):
    """The bytes that came are not the bytes that were pinned."""


class TaskError(EnvaceError, ValueError):
    """A task record or a data set that cannot be trusted."""


class WorldError(EnvaceError, RuntimeError):
    """A world or scenario that cannot be played or solved."""


class PolicyError(EnvaceError, RuntimeError):
    """A policy that cannot be loaded or asked."""


class TrainingError(EnvaceError, RuntimeError):
    """A training run that must not go on."""


class BenchmarkError(EnvaceError, RuntimeError):
    """An evaluation that is incomplete or cannot run."""


class RegistryError(EnvaceError, RuntimeError):
    """A model version, alias or decision that does not hold."""
