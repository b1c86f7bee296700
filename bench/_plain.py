"""The rule filters as one would write them for a `datasets` map: a row in, a verdict out.

Each row is parsed and checked by itself with `json` and `jsonschema.validate`, as CM2's rule filter
(arXiv 2602.12268) goes through its rows. It tells the records that `_records.py` broke from the
others, and no more.
"""

import json
import re
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError, validate

TEXT = re.compile(r"<tool_call>|<execution_result>|<\|im_(start|end)\|>|<function=|\[TOOL_CALLS\]")


def keep(row: dict[str, Any]) -> bool:
    """Does the row pass every rule?"""
    try:
        tools = [tool["function"] for tool in json.loads(row["tools"])]
        messages = row["messages"]
        return (
            _tools(tools)
            and _order(messages)
            and all(map(_text, messages))
            and _calls(messages, {tool["name"]: tool for tool in tools})
        )
    except (ValueError, KeyError, SchemaError, ValidationError):
        return False


def _tools(tools: list[dict[str, Any]]) -> bool:
    for tool in tools:
        Draft202012Validator.check_schema(tool["parameters"])
    return len({tool["name"] for tool in tools}) == len(tools)


def _order(messages: list[dict[str, Any]]) -> bool:
    last = "user?"
    for message in messages:
        role = message["role"]
        if role == "system":
            continue
        if role == "user" and last not in ("user?", "reply"):
            return False
        if role == "assistant" and last not in ("user", "tool"):
            return False
        if role == "tool" and last not in ("calls", "tool"):
            return False
        last = ("calls" if message["tool_calls"] else "reply") if role == "assistant" else role
    return last == "reply"


def _text(message: dict[str, Any]) -> bool:
    content, calls = message["content"] or "", message["tool_calls"]
    if not content.strip() and not calls:
        return False
    return content.count("<think>") == content.count("</think>") and not TEXT.search(content)


def _calls(messages: list[dict[str, Any]], tools: dict[str, Any]) -> bool:
    answers = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message["tool_calls"] or ():
            if not isinstance(json.loads(answers[call["id"]]), dict | list):
                return False
            arguments = json.loads(call["function"]["arguments"])
            schema = tools[call["function"]["name"]]["parameters"]
            validate(arguments, schema, format_checker=FormatChecker())
    return True
