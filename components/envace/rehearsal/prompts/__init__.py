"""The prompts of both roles, as files; golden tests pin what they render to."""

from functools import lru_cache
from importlib.resources import files


@lru_cache
def prompt(name: str) -> str:
    """The template `name`.md, without its last newline."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").rstrip("\n")
