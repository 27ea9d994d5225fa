"""How does a pack's `copy.deepcopy` stay quick where every `id` is audited?

Packs like to copy their rows with it, at `reset` and in `get_state`. Up to Python 3.13 it asks for the `id` of every
text and number before it sees that there is nothing to copy, and an audited `id` costs five times a plain one: a third
of what such an episode takes. Newer ones give them back at once; here it is taught the same for what stands in lists
and objects. What it returns, what it raises and what `__deepcopy__` methods find in their memo stay as they are; only a
memo that was filled beforehand for a text or a number is not asked, as in newer ones.
Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any


def quicken() -> None:
    """Teach it, where the pack has imported `copy` and Python does not do so itself.

    A module of that name that is made otherwise, such as the pack's own, stays as it is.
    """
    module: Any = sys.modules.get("copy")
    copiers = getattr(module, "_deepcopy_dispatch", None)
    of_leaves = getattr(module, "_deepcopy_atomic", None)
    if not isinstance(copiers, dict) or of_leaves is None:
        return
    leaves = frozenset(kind for kind, copier in copiers.items() if copier is of_leaves)
    for kind, quick in ((list, _of_list), (dict, _of_dict)):
        plain = copiers.get(kind)
        # One that the pack has put there itself stays.
        if plain is None or plain is not getattr(module, f"_deepcopy_{kind.__name__}", None):
            continue
        defaults = getattr(plain, "__defaults__", None) or ()
        if len(defaults) == 1:
            copiers[kind] = quick(leaves, *defaults)


def _of_list(leaves: Collection[type], deepcopy: Callable[..., Any]) -> Callable[..., Any]:
    def of_list(values: list[Any], memo: dict[int, Any]) -> list[Any]:
        made: list[Any] = []
        memo[id(values)] = made
        for value in values:  # one after the other: the list may hold itself
            made.append(value if type(value) in leaves else deepcopy(value, memo))
        return made

    return of_list


def _of_dict(leaves: Collection[type], deepcopy: Callable[..., Any]) -> Callable[..., Any]:
    def of_dict(values: dict[Any, Any], memo: dict[int, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        memo[id(values)] = made
        for name, value in values.items():
            copied = value if type(value) in leaves else deepcopy(value, memo)
            made[name if type(name) in leaves else deepcopy(name, memo)] = copied
        return made

    return of_dict
