"""How does a pack's `copy.deepcopy` stay quick where every `id` is audited?

Most packs copy their rows with it, at `reset` and in `get_state`. Up to Python 3.12 it asks for the `id` of every
text and number before it sees that there is nothing to copy, and an audited `id` costs five times a plain one: half of
what such an episode takes. From 3.13 on it gives them back at once; here it is taught the same for what stands in
lists and objects. What it returns and what `__deepcopy__` methods find in their memo stay as they are; only a memo that
was filled beforehand for a text or a number is not asked, as in 3.13.
Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import sys
from typing import Any


def quicken() -> None:
    """Teach it, where the pack has imported `copy` and Python does not do so itself."""
    module: Any = sys.modules.get("copy")
    if module is None or sys.version_info >= (3, 13):
        return
    copiers = module._deepcopy_dispatch
    (deepcopy,) = module._deepcopy_dict.__defaults__
    leaves = frozenset(kind for kind, copier in copiers.items() if copier is module._deepcopy_atomic)

    def of_list(values: list[Any], memo: dict[int, Any]) -> list[Any]:
        made: list[Any] = []
        memo[id(values)] = made
        for value in values:
            made.append(value if type(value) in leaves else deepcopy(value, memo))
        return made

    def of_dict(values: dict[Any, Any], memo: dict[int, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        memo[id(values)] = made
        for name, value in values.items():
            place = name if type(name) in leaves else deepcopy(name, memo)
            made[place] = value if type(value) in leaves else deepcopy(value, memo)
        return made

    for kind, quick in ((list, of_list), (dict, of_dict)):
        # One that the pack has put there itself stays.
        if copiers.get(kind) is getattr(module, f"_deepcopy_{kind.__name__}"):
            copiers[kind] = quick
