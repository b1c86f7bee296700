"""Which side a task is on depends on its id alone, so that added data never moves a task.

A task is held out if u(id) < share, with u the first 64 bits of SHA-256(salt, id) as a fraction.
"""

import hashlib
from typing import Literal

Side = Literal["train", "heldout"]


def split_of(task_id: str, held_out_share: float, salt: str) -> Side:
    """The side of the task; another `salt` draws another split."""
    digest = hashlib.sha256(f"{salt}\0{task_id}".encode()).digest()
    fraction = int.from_bytes(digest[:8], "big") / 2**64
    return "heldout" if fraction < held_out_share else "train"
