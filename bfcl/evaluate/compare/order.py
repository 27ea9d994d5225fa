"""Do calls come in the order that a row demands? Rule: evaluation.md §8."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.evaluate.records import CallMatch, Script
from bfcl.modelio.exchange import ToolCall


def ordered(
    script: Script, calls: Sequence[ToolCall], matches: Sequence[CallMatch], *, called_before: Sequence[str] = ()
) -> bool:
    """Whether the order policy still holds after this reply; `matches` is parallel to `calls`.

    `called_before` names the tools called in the turns before it, in provider order. Across turns, `strict` and `any`
    need nothing more: the script itself goes turn by turn.
    """
    match script.call_order:
        case "any":
            return True
        case "strict":
            return _in_gold_order(calls, matches)
        case "prefix":
            names = [*called_before, *(call.function_name for call in calls)]
            return _begins(names, list(dict.fromkeys(script.required_tools)), script.call_order_prefix)


def _in_gold_order(calls: Sequence[ToolCall], matches: Sequence[CallMatch]) -> bool:
    """Whether full matches ascend in the gold order, and so do the names of all calls that are paired.

    A call with a wrong value is held by its name alone: which of several gold calls of one tool it stands for cannot
    be known, and a wrong value is no wrong order.
    """
    paired = [
        (match.gold_index, match.full, call.function_name)
        for call, match in zip(calls, matches, strict=True)
        if match.gold_index is not None
    ]
    places = [place for place, full, _ in paired if full]
    names = [name for _, _, name in paired]
    return places == sorted(places) and names == [name for _, _, name in sorted(paired)]


def _begins(names: Sequence[str], required: Sequence[str], prefix: int | None) -> bool:
    """Whether the first appearances of required tools begin as they should, as far as they have come."""
    seen = [name for name in dict.fromkeys(names) if name in required][:prefix]
    return seen == list(required[: len(seen)])
