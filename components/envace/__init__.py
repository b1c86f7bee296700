"""EnvACE: an agent that learns to act by rehearsing its own tools (arXiv 2608.06197)."""

__version__ = "0.1.0"
