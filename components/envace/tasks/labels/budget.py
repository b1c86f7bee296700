"""A ceiling on what requests cost, whatever the number of them under way.

One idea: the most that a request may cost is set aside before it is sent, and what it did cost
takes that place afterwards.
"""

import asyncio
from decimal import Decimal

from envace.errors import PolicyError


class Budget:
    """What may be spent, what was, and what is set aside for requests under way."""

    def __init__(self, ceiling: Decimal | None, spent: Decimal) -> None:
        self.spent = spent
        self._ceiling, self._aside = ceiling, Decimal(0)
        self._settled = asyncio.Condition()

    async def set_aside(self, bound: Decimal) -> None:
        """Waits until `bound` is free. Raises `PolicyError` when it never will be."""
        async with self._settled:
            while self._ceiling is not None and self.spent + self._aside + bound > self._ceiling:
                if not self._aside:
                    raise PolicyError(
                        f"{self.spent} are spent and the next request may cost {bound}, but the "
                        f"ceiling is {self._ceiling}; raise it to go on from here."
                    )
                await self._settled.wait()
            self._aside += bound

    async def settle(self, bound: Decimal, cost: Decimal) -> None:
        """Books what a request did cost instead of its bound."""
        async with self._settled:
            self._aside -= bound
            self.spent += cost
            self._settled.notify_all()
