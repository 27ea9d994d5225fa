"""How does a conversation read once every bound value is masked by its slot's name? Rule: generation.md §3.8.1."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.digest import sha256_hex
from bfcl.pack.placeholders import is_identifier, text_form
from bfcl.records.task import Task
from bfcl.stages.grouped_numbers import grouped_numbers


def projection(task: Task, user_turns: Sequence[str]) -> str:
    """One line `[user] ...` a user turn, whitespace collapsed, values masked; NFC.

    Assistant texts and calls take no part: two conversations are alike if their users say alike things.
    """
    names = literals(task)
    return "\n".join(f"[user] {masked(turn, names)}" for turn in user_turns)


def text_hash(projected: str) -> str:
    """64 hex digits of SHA-256 of the UTF-8 text."""
    return sha256_hex(projected.encode())


def literals(task: Task) -> dict[str, str]:
    """Every text a user turn may say for a bound value, to the first name in sort order of a slot that has it.

    Initial and final values and those of corrections; an alias speaks only where no slot has its value. What only an
    argument takes from a slot's row has a name that no text can write, and is no literal.
    """
    values = [task.slots_initial, task.slots, *(delivery.values for delivery in task.slot_updates)]
    found: dict[str, str] = {}
    for each in (values, [delivery.aliases for delivery in task.slot_updates]):
        for name, literal in sorted(_spoken(each)):
            found.setdefault(literal, name)
    return found


def _spoken(values: Sequence[Mapping[str, Json]]) -> set[tuple[str, str]]:
    pairs = {
        (name, collapsed(text_form(value)))
        for mapping in {id(mapping): mapping for mapping in values}.values()
        for name, value in mapping.items()
        if is_identifier(name)
    }
    return {(name, literal) for name, literal in pairs if literal}


def collapsed(text: str) -> str:
    """NFC, each run of whitespace one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def masked(text: str, names: Mapping[str, str]) -> str:
    """The text, collapsed, with every literal of `names` as `<name>`; what is put in is not searched again.

    Numbers in three-digit grouping go first: they cut the text into pieces. In a piece the leftmost literal wins, at
    one place the longest.
    """
    text = collapsed(text)
    pieces: list[str] = []
    start = 0
    for number in grouped_numbers(text):
        name = names.get(number.digits)
        if name is not None:
            pieces += _pieces(text[start : number.start], names)
            pieces.append(f"<{name}>")
            start = number.end
    return "".join(pieces + _pieces(text[start:], names))


class _Found(NamedTuple):
    """A literal at its place, in the order in which literals win."""

    start: int
    shortness: int
    literal: str


def _pieces(text: str, names: Mapping[str, str]) -> list[str]:
    pieces: list[str] = []
    start = 0
    for found in sorted(_Found(at, -len(literal), literal) for literal in names for at in _places(text, literal)):
        if found.start >= start:
            pieces += text[start : found.start], f"<{names[found.literal]}>"
            start = found.start - found.shortness
    pieces.append(text[start:])
    return pieces


def _places(text: str, literal: str) -> list[int]:
    """Every offset at which the literal is a token of its own."""
    places = []
    at = text.find(literal)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(literal) : at + len(literal) + 1]
        if literal.isdecimal():
            free = not before.isdecimal() and not after.isdecimal()
        else:
            free = not (_joins(before, literal[0]) or _joins(literal[-1], after))
        if free:
            places.append(at)
        at = text.find(literal, at + 1)
    return places


def _joins(left: str, right: str) -> bool:
    return _is_word(left) and _is_word(right)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
