"""An environment is whatever answers a tool call. That is the one abstraction.

Training and private rehearsal answer by generation (`rehearsal.rehearsed`); a benchmark and the
committed execution answer by executing. The episode loop does not know which.
"""

from typing import Protocol

from envace.episode import Call, Message, Observation


class Environment(Protocol):
    """Answers tool calls, one at a time, keeping whatever state it needs between them."""

    async def respond(self, call: Call, conversation: tuple[Message, ...]) -> Observation:
        """The response to `call`, whose name and arguments were checked against its tool.

        `conversation` is what was said so far, the message with the call included. An environment
        that executes has its own state and ignores it; one that rehearses conditions on it.
        """
        ...
