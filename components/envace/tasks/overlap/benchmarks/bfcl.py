"""Items of BFCL v4, from the folder `bfcl_eval/data` of PyPI `bfcl-eval` (Apache-2.0).

Questions stand in `BFCL_v4_*.json`, JSON lines, and answers in files of the same names in
`possible_answer`. An answer is a call with the values that each argument may have, or, in several
turns, a call as Python text; that is parsed and never run.
"""

import ast
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from itertools import islice, product
from typing import Any

from envace.episode import Call
from envace.strict_json import loads
from envace.tasks.overlap.benchmarks.item import Item

MAX_FORMS = 64
"""Forms of one call that are compared."""
_LISTS_ONLY_IDS = "BFCL_v4_format_sensitivity.json"


def items(data: Traversable) -> Iterator[Item]:
    """Every item, file by file in the order of their names."""
    docs = _parameters(data / "multi_turn_func_doc")
    for file in sorted(data.iterdir(), key=lambda file: file.name):
        if not file.name.startswith("BFCL_v4_") or file.name == _LISTS_ONLY_IDS:
            continue
        answered = data / "possible_answer" / file.name
        answers = {row["id"]: row["ground_truth"] for row in _rows(answered)}
        for row in _rows(file):
            said = [m["content"] for turn in row["question"] for m in turn if m["role"] == "user"]
            goal = tuple(_goal(answers.get(row["id"], []), docs))
            yield Item(row["id"], tuple(said), goal, tuple(_tools(row.get("function", []))))


def _tools(functions: list[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for function in functions:
        yield function["name"], tuple(function["parameters"].get("properties", {}))


def _rows(file: Traversable) -> list[Any]:
    if not file.is_file():
        return []
    return [loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


def _parameters(folder: Traversable) -> Mapping[str, tuple[str, ...]]:
    """Of each tool of several turns, the names of its arguments in order."""
    rows = [row for file in folder.iterdir() for row in _rows(file)] if folder.is_dir() else []
    return {row["name"]: tuple(row["parameters"]["properties"]) for row in rows}


def _goal(answer: list[Any], docs: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Call, ...]]:
    for part in answer:
        if isinstance(part, dict):
            for name, options in part.items():
                yield tuple(
                    Call(name=name, arguments=one) for one in islice(_forms(options), MAX_FORMS)
                )
        elif isinstance(part, list):
            yield from ((_parsed(text, docs),) for text in part)


def _forms(options: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The argument objects that `options` allow; an empty text means that there is no argument."""
    choices = [
        [form for value in values or [""] for form in _values(value)] for values in options.values()
    ]
    for chosen in product(*choices):
        pairs = zip(options, chosen, strict=True)
        yield {name: value for name, value in pairs if value != ""}


def _values(value: Any) -> list[Any]:
    """An object as a value has values to choose from inside it."""
    if isinstance(value, dict) and all(isinstance(inner, list) for inner in value.values()):
        return list(islice(_forms(value), MAX_FORMS))
    return [value]


def _parsed(text: str, docs: Mapping[str, tuple[str, ...]]) -> Call:
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call):
        raise TypeError(f"'{text}' is no call")
    name = ast.unparse(call.func)
    placed = zip(docs.get(name, ()), call.args, strict=False)
    named = ((keyword.arg or "", keyword.value) for keyword in call.keywords)
    values = {key: ast.literal_eval(value) for key, value in (*placed, *named)}
    return Call.model_validate({"name": name, "arguments": values})
