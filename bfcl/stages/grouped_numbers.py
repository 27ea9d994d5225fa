"""Where does a text write a number in groups of three, and which digits are meant? Rule: generation.md §3.3, §3.8.1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

# One separator throughout, groups of exactly three, as long as it goes: `200 000` inside `1 200 000` is no number, and
# neither is what goes on behind a decimal sign. The possessive repetition keeps a failing right edge from being
# rescued by a shorter number.
_GROUPED: Final = re.compile(
    r"(?<!\d)(?<!\d[.,])\d{1,3}(?P<sign>[., \u00a0\u202f'\u2019])\d{3}(?!\d)(?:(?P=sign)\d{3}(?!\d))*+(?![.,]\d)"
)


class GroupedNumber(NamedTuple):
    """A number in three-digit grouping: where it stands, and its digits without separators."""

    start: int
    end: int
    digits: str


def grouped_numbers(text: str) -> Iterator[GroupedNumber]:
    """Every such number in order. Separators: `.` `,` space, U+00A0, U+202F, `'`, U+2019; never `1, 2, 3`."""
    for found in _GROUPED.finditer(text):
        yield GroupedNumber(found.start(), found.end(), found.group().replace(found.group("sign"), ""))
