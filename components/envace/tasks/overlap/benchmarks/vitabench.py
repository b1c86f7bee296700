"""Items of VitaBench, from a file of `meituan-longcat/vitabench` (MIT): one JSON list of tasks.

An item's goal is a state of orders, not calls, so its instructions are compared and the ids of the
shops and products that are ordered.
"""

import json
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

from envace.tasks.overlap.benchmarks.item import Item


def items(file: Traversable) -> Iterator[Item]:
    """Every item of the file."""
    for task in json.loads(file.read_text(encoding="utf-8")):
        yield Item(f"{task['domain']}/{task['id']}", (task["instructions"], *_orders(task)))


def _orders(task: Any) -> Iterator[str]:
    for state in task["evaluation_criteria"]["expected_states"]:
        for order in state["required_orders"]:
            yield f"{order['user_id']} {order['store_id']}"
            yield from (product["product_id"] for product in order.get("products") or ())
