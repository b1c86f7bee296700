"""What a model is asked about a task.

One idea: what a task says is data. It is written as JSON lines between marks made of its own hash,
which it therefore cannot hold.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from envace.episode import Message
from envace.strict_json import dumps
from envace.tasks.task import Task

MAX_ITEMS = 6
"""Items that a model may add to a turn."""

Prompt = Sequence[Mapping[str, str]]
"""Messages of a chat: role and content."""


def label_prompt(task: Task) -> Prompt:
    """Asks for the items of a task that only a judge can decide."""
    asked = _template("label").format(most=MAX_ITEMS, turns=len(task.user_messages))
    items = [
        dumps({"turn": number, "item": item.id, "question": item.question})
        for number, turn in enumerate(task.checklists)
        for item in turn
    ]
    return (said("system", asked), _recording([*_lines(task), *items]))


def keep_prompt(task: Task) -> Prompt:
    """Asks whether a task is fit to train on."""
    return (said("system", _template("keep").format()), _recording([*_lines(task)]))


def repair_prompt(prompt: Prompt, answer: str, problem: str) -> Prompt:
    """Asks once more, after an answer that cannot be used."""
    again = said("user", _template("repair").format(problem=problem))
    return (*prompt, said("assistant", answer), again)


def said(role: str, text: str) -> Mapping[str, str]:
    """A message of a chat."""
    return {"role": role, "content": text}


def turns(task: Task) -> Iterator[tuple[int, Message]]:
    """Each message with the number of its turn; a turn begins with what the user says."""
    turn = -1
    for message in task.conversation:
        turn += message.role == "user"
        yield turn, message


def line(turn: int, message: Message) -> str:
    """A message as the model is shown it."""
    return dumps({"turn": turn, **message.model_dump(mode="json", exclude_defaults=True)})


def _lines(task: Task) -> Iterator[str]:
    yield dumps({"policy": task.system})
    for tool in task.tools:
        yield dumps({"tool": tool.model_dump(mode="json")})
    for turn, message in turns(task):
        yield line(turn, message)


def _recording(lines: Sequence[str]) -> Mapping[str, str]:
    text = "\n".join(lines)
    mark = f"recording-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return said("user", _template("recording").format(mark=mark, recording=text))


def _template(name: str) -> str:
    folder = files("envace.tasks.labels").joinpath("prompts")
    return folder.joinpath(f"{name}.md").read_text("utf-8").rstrip("\n")
