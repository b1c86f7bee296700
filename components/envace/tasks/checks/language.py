"""The language of a conversation, by py3langid, over what the user and the assistant say."""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from envace.tasks.task import Task

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENOUGH = 40
"""Letters below which no language is told."""
MOST = 2_000
"""Characters that are looked at."""
UNKNOWN = "und"
NO_LANGUAGE = "zxx"
"""What ISO 639 calls text that is in no language, such as code."""


@dataclass(frozen=True)
class Language:
    """A rule: the task is in one of these languages (ISO 639-1), or too short to tell."""

    languages: tuple[str, ...]

    def __call__(self, task: Task) -> str | None:
        """Why it is not, as `language: detail`."""
        found = language_of(task)
        if found == UNKNOWN or found in self.languages:
            return None
        return f"language: it is in '{found}', expected {' or '.join(self.languages)}"


def language_of(task: Task) -> str:
    """The likeliest ISO 639-1 code, or `und` where there is too little text in a language."""
    said = " ".join(m.content[:MOST] for m in task.conversation if m.role != "tool")[:MOST]
    if sum(map(str.isalpha, said)) < ENOUGH:
        return UNKNOWN
    for code, _ in _identifier().rank(said):
        if len(code) == 2 or code == NO_LANGUAGE:
            return UNKNOWN if code == NO_LANGUAGE else code
    return UNKNOWN


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    """The model that comes with the package, loaded once a process."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
