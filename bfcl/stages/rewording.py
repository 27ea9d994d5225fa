"""Is a model's wording still the conversation it was asked to reword? Rule: generation.md §4.3.

Only what the turns themselves show; guards about slots, tools and phrases are those of `mentions`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from bfcl.records.surface import Violation
from bfcl.stages.grouped_numbers import grouped_numbers
from bfcl.stages.mentions import fold

_CODE: Final = re.compile(r"(?<![^\W_])[A-Z]{2,}(?:[-_][A-Z0-9]+)+(?![^\W_])")
_DIGITS: Final = re.compile(r"\d+")


def rewording_violations(user_turns: Sequence[str], canonical_turns: Sequence[str]) -> tuple[Violation, ...]:
    """What a rewording of `canonical_turns` breaks, each once: shape first, then literals nobody gave it.

    Violations name the reason, never the words: see `Violation`.
    """
    shape = shape_faults(user_turns, len(canonical_turns))
    if _plain(user_turns) == _plain(canonical_turns):
        shape.append("unchanged_surface")
    found = [Violation(guard="semantic_shape", key="reason", value=reason) for reason in shape]
    found += [
        Violation(guard="novel_literal", key="reason", value=kind)
        for kind, literals in (("code", _codes), ("number", _numbers))
        if not literals(user_turns) <= literals(canonical_turns)
    ]
    return tuple(found)


def shape_faults(user_turns: Sequence[str], expected: int) -> list[str]:
    """`user_turn_count_changed` and `empty_user_turn`, as far as they hold of any wording."""
    faults = [] if len(user_turns) == expected else ["user_turn_count_changed"]
    if not all(turn.strip() for turn in user_turns):
        faults.append("empty_user_turn")
    return faults


def _plain(turns: Sequence[str]) -> list[str]:
    # Other case or spacing is no other wording.
    return [" ".join(fold(turn).split()) for turn in turns]


def _codes(turns: Sequence[str]) -> set[str]:
    return {code for turn in turns for code in _CODE.findall(turn)}


def _numbers(turns: Sequence[str]) -> set[str]:
    """Every number by its digits alone: `1.200.000` and `1200000` are one."""
    found: set[str] = set()
    for turn in turns:
        at = 0
        for number in grouped_numbers(turn):
            found.update(map(_ascii, _DIGITS.findall(turn, at, number.start)))
            found.add(_ascii(number.digits))
            at = number.end
        found.update(map(_ascii, _DIGITS.findall(turn, at)))
    return found


def _ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(digit)) for digit in digits)
