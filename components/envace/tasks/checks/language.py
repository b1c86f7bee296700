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
    """ISO 639-1 code, or `und` where there is too little text in a language."""
    said = " ".join(m.content[:MOST] for m in task.conversation if m.role != "tool")[:MOST]
    if sum(map(str.isalpha, said)) < ENOUGH:
        return UNKNOWN
    found = str(_identifier().classify(said.encode(errors="replace").decode())[0])
    return UNKNOWN if found == NO_LANGUAGE else found


@lru_cache(maxsize=1)
def _identifier() -> "LanguageIdentifier":
    """The model that comes with the package, loaded once a process; languages of ISO 639-1 only."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_pickled_model(MODEL_FILE)
    found.set_languages([code for code in found.labels if len(code) == 2] + [NO_LANGUAGE])
    return found
