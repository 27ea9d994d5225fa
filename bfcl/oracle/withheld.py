"""What does an assertion get that asks its task for something nobody knows? A refusal, and never a guess.

Runs beside pack code: standard library only. Rule: evaluation.md §7.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any


class NotRecovered(KeyError):
    """A field of the task is unknown; asking for it is no fault of the assertion."""

    def __str__(self) -> str:
        return str(self.args[0])


class Withheld(dict[str, Any]):
    """A task that lacks the fields `unknown` and will not be asked for them, whichever way it is done by name.

    `refused` says what was asked for all the same, in order.
    """

    def __init__(self, task: Mapping[str, Any], unknown: Collection[str]) -> None:
        super().__init__((name, value) for name, value in task.items() if name not in unknown)
        self._unknown = frozenset(unknown)
        self.refused: list[str] = []

    def __missing__(self, name: str) -> Any:
        self._ask(name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        self._ask(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping. Raises: NotRecovered."""
        self._ask(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        """As of any mapping. Raises: NotRecovered."""
        self._ask(name)
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As of any mapping. Raises: NotRecovered."""
        self._ask(name)
        return super().setdefault(name, default)

    def _ask(self, name: object) -> None:
        if name in self._unknown:
            self.refused.append(f"reads `task[{name!r}]`, which could not be recovered for this row")
            raise NotRecovered(self.refused[-1])
