"""May matching a pattern take time that doubles with every character of a text? Told by the pattern alone.

A pattern is read as an automaton whose states are its single characters. Matching is hopeless where it can go around
from one state to itself along the same text in two ways, and something behind must match that may not: then every way
is tried. Repetition that a separator keeps apart goes around in one way only, and is not reported.
"""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

_STATES: Final = 200
"""More single characters than this are not looked at."""
_EDGES: Final = 400
"""More transitions than this within one loop are not looked at: their pairs are compared."""
_WORDS: Final = frozenset("0Aaz_")
_SAMPLE: Final = frozenset("0Aaz_ \n!-.é中")
"""Characters that stand for all others of their kinds."""

Chars: TypeAlias = frozenset[str]


@functools.lru_cache(maxsize=1024)
def may_not_end(pattern: str) -> bool:
    """Whether some text makes a search for `pattern` take time exponential in its length. False for what is no pattern.

    Look-arounds, back-references and possessive parts are not followed; what they hide is not reported.

    Only unbounded repeats are looked at: `(a?){60}` is as slow and is not told.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = importlib.import_module("re._parser").parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    reader = _Reader(_alphabet(parsed))
    try:
        whole = reader.sequence(list(parsed))
    except (_TooLarge, RecursionError):
        return False
    return any(_is_ambiguous(loop, reader, whole.last) for loop in _loops(reader.follow))


# --- the automaton ----------------------------------------------------------------------------------------------------


class _TooLarge(Exception):
    pass


class _Part(NamedTuple):
    """The states a part of a pattern may begin and end with, and in how many ways it may be empty.

    A state stands there once for each way, but never more than twice: two ways are enough to tell. So with `empty`.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    empty: int


_NOTHING: Final = _Part((), (), 1)


@dataclass(slots=True)
class _Reader:
    """Turns parsed parts into states. Each state matches `chars`; `follow` counts in how many ways one follows another.

    Two ways for one step are as bad as two different steps: a repetition inside a repetition is that.
    """

    alphabet: Chars
    chars: list[Chars] = field(default_factory=list)
    follow: Counter[tuple[int, int]] = field(default_factory=Counter)

    def sequence(self, items: Iterable[Any]) -> _Part:
        whole = _NOTHING
        for item in items:
            whole = self._then(whole, self._read(item))
        return whole

    def _then(self, left: _Part, right: _Part) -> _Part:
        self.follow.update((end, start) for end in left.last for start in right.first)
        first = (*left.first, *right.first * left.empty)
        last = (*left.last * right.empty, *right.last)
        return _part(first, last, left.empty * right.empty)

    def _state(self, chars: Chars) -> _Part:
        if len(self.chars) == _STATES:
            raise _TooLarge
        self.chars.append(chars)
        number = len(self.chars) - 1
        return _Part((number,), (number,), 0)

    def _read(self, item: tuple[Any, Any]) -> _Part:
        operation, value = str(item[0]), item[1]
        if operation in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return self._state(_matched(operation, value, self.alphabet))
        if operation == "SUBPATTERN":
            return self.sequence(value[3])
        if operation == "BRANCH":
            return _either([self.sequence(each) for each in value[1]])
        if operation in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeated(*value)
        if operation == "AT" and not str(value).startswith("AT_BEGINNING"):
            return self._state(frozenset())  # it takes no character, but it may fail
        return _NOTHING

    def _repeated(self, least: int, most: int, body: Any) -> _Part:
        unbounded = str(most) == "MAXREPEAT"
        whole = _NOTHING
        for _ in range(max(least - 1, 0) if unbounded else least):
            whole = self._then(whole, self.sequence(body))
        if unbounded:
            loop = self.sequence(body)
            self.follow.update((end, start) for end in loop.last for start in loop.first)
            # Going around without taking anything is one more way to be empty.
            ways = 2 * loop.empty if least else 1 + loop.empty
            return self._then(whole, _part(loop.first, loop.last, ways))
        rest = _NOTHING
        for _ in range(most - least):
            # Each copy may be left out with all that are behind it.
            copy = self._then(self.sequence(body), rest)
            rest = _part(copy.first, copy.last, 1 + copy.empty)
        return self._then(whole, rest)


def _either(parts: Sequence[_Part]) -> _Part:
    first = [start for part in parts for start in part.first]
    last = [end for part in parts for end in part.last]
    return _part(first, last, sum(part.empty for part in parts))


def _part(first: Iterable[int], last: Iterable[int], empty: int) -> _Part:
    return _Part(_twice_at_most(first), _twice_at_most(last), min(empty, 2))


def _twice_at_most(states: Iterable[int]) -> tuple[int, ...]:
    return tuple(state for state, ways in Counter(states).items() for _ in range(min(ways, 2)))


# --- characters -------------------------------------------------------------------------------------------------------


def _alphabet(parsed: Any) -> Chars:
    """Characters that tell the sets of a pattern apart: its own, the edges of its ranges, and a sample of the rest."""
    found: set[str] = set(_SAMPLE)
    for operation, value in _walk(parsed):
        if operation in ("LITERAL", "NOT_LITERAL"):
            found.add(chr(value))
        elif operation == "RANGE":
            found.update(chr(min(max(edge, 0), 0x10FFFF)) for low, high in [value] for edge in (low, high))
    return frozenset(found)


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every (operation, value) at any depth."""
    if isinstance(value, tuple) and len(value) == 2 and str(value[0]).isupper():
        yield str(value[0]), value[1]
        yield from _walk(value[1])
    elif isinstance(value, list | tuple) or hasattr(value, "data"):
        for each in value:
            yield from _walk(each)


def _matched(operation: str, value: Any, alphabet: Chars) -> Chars:
    if operation == "ANY":
        return alphabet - {"\n"}
    if operation == "LITERAL":
        return frozenset(chr(value))
    if operation == "NOT_LITERAL":
        return alphabet - {chr(value)}
    negated = str(value[0][0]) == "NEGATE"
    members = value[1:] if negated else value
    found = frozenset(char for char in alphabet if any(_is_member(char, *member) for member in members))
    return alphabet - found if negated else found


def _is_member(char: str, operation: Any, value: Any) -> bool:
    if str(operation) == "LITERAL":
        return ord(char) == int(value)
    if str(operation) == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    category = str(value).rpartition("_")[2]
    inside = {"DIGIT": char.isdecimal(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}.get(category)
    return inside is not None and inside != ("_NOT_" in str(value))


# --- ways around ------------------------------------------------------------------------------------------------------

_Edges: TypeAlias = "dict[tuple[int, int], int]"


def _loops(follow: Counter[tuple[int, int]]) -> list[_Edges]:
    """The transitions of each part of the automaton in which every state leads to every other."""
    component = _components({end for edge in follow for end in edge}, follow)
    loops: dict[int, _Edges] = {}
    for (start, end), ways in follow.items():
        if component[start] == component[end]:
            loops.setdefault(component[start], {})[start, end] = ways
    return list(loops.values())


def _is_ambiguous(loop: _Edges, reader: _Reader, last: Sequence[int]) -> bool:
    """Whether a loop goes around along one text in two ways, with a state from which the text may not yet be done."""
    unfinished = {state for edge in loop for state in edge} - set(last)
    if not unfinished or len(loop) > _EDGES:
        return False
    if any(ways > 1 for ways in loop.values()):
        return True
    # Two ways at once: from a pair of equal states over a pair of unlike ones and back.
    pairs: Counter[tuple[Any, Any]] = Counter(
        ((one[0], other[0]), (one[1], other[1]))
        for one in loop
        for other in loop
        if reader.chars[one[1]] & reader.chars[other[1]]
    )
    component = _components({end for edge in pairs for end in edge}, pairs)
    equal = {component[pair] for pair in component if pair[0] == pair[1]}
    return any(pair[0] != pair[1] and component[pair] in equal for pair in component)


def _components(nodes: Iterable[Any], edges: Iterable[tuple[Any, Any]]) -> dict[Any, int]:
    """Node to the number of its strongly connected component; two passes in depth, without recursion."""
    ahead: dict[Any, list[Any]] = {node: [] for node in nodes}
    back: dict[Any, list[Any]] = {node: [] for node in ahead}
    for start, end in edges:
        ahead[start].append(end)
        back[end].append(start)
    finished: list[Any] = []
    seen: set[Any] = set()
    for root in ahead:
        if root in seen:
            continue
        seen.add(root)
        trail = [(root, iter(ahead[root]))]
        while trail:
            node, rest = trail[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                finished.append(node)
                trail.pop()
            else:
                seen.add(following)
                trail.append((following, iter(ahead[following])))
    component: dict[Any, int] = {}
    for number, root in enumerate(reversed(finished)):
        todo = [] if root in component else [root]
        while todo:
            node = todo.pop()
            if node not in component:
                component[node] = number
                todo.extend(back[node])
    return component
