"""Does a conversation say a value, a tool name or a phrase, and does it keep its template's promises about them?

Rule: generation.md §3.3 and pack.md §5.7 together; where they differ, a mention has to satisfy both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.pack.placeholders import is_identifier, text_form
from bfcl.records.surface import Violation
from bfcl.records.task import Task
from bfcl.records.template import Template

TOOL_NAMES = "tool_names"
"""The word in `paraphrase.must_not_mention` that stands for every tool name."""

# One separator throughout, groups of exactly three, and as long as it goes: `200 000` inside `1 200 000` is no mention
# of 200000. The possessive group keeps a failing right edge from being rescued by a shorter number.
_GROUPED = re.compile(r"(?<!\d)(?<!\d[.,])\d{1,3}([., \u00a0\u202f])\d{3}(?!\d)(?:\1\d{3}(?!\d))*+(?![.,]\d)")


def fold(text: str) -> str:
    """The form in which texts that differ in case or composition only are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _mentions(text: str, value: str) -> bool:
    """Whether `value` stands in `text` as a token of its own, case-sensitively. Both are in NFC.

    Next to a digit edge no digit may stand, nor `.` or `,` with a digit behind it; next to a letter or `_` no letter,
    digit or `_`; other edges are free. An all-digit value is also found in its three-digit grouping. An empty value is
    never found.
    """
    return any(_stands_alone(text, value, at) for at in _places(text, value)) or (
        len(value) > 3 and value.isdecimal() and _mentions_grouped(text, value)
    )


def _mentions_grouped(text: str, digits: str) -> bool:
    return any(found.group().replace(found.group(1), "") == digits for found in _GROUPED.finditer(text))


def _names_word(text: str, word: str) -> bool:
    """Whether a word stands in a text, both folded, with no word character touching its word edges."""
    for at in _places(text, word):
        end = at + len(word)
        touched_before = at > 0 and _is_word(word[0]) and _is_word(text[at - 1])
        touched_after = end < len(text) and _is_word(word[-1]) and _is_word(text[end])
        if not touched_before and not touched_after:
            return True
    return False


def _places(text: str, part: str) -> Iterator[int]:
    """Every offset of `part`, overlapping ones included."""
    if not part:
        return
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _stands_alone(text: str, value: str, at: int) -> bool:
    end = at + len(value)
    before, after = text[max(at - 2, 0) : at], text[end : end + 2]
    # Reading outwards from the value, both edges follow one rule.
    return _edge_is_free(value[0], before[::-1]) and _edge_is_free(value[-1], after)


def _edge_is_free(edge: str, outside: str) -> bool:
    """`outside` holds up to two characters beside the edge, nearest first."""
    if not outside:
        return True
    if edge.isdecimal():
        return not outside[0].isdecimal() and not (outside[0] in ".," and outside[1:].isdecimal())
    return not (_is_word(edge) and _is_word(outside[0]))


def _is_word(character: str) -> bool:
    if character.isalnum() or character == "_":
        return True
    # A combining mark belongs to its letter: scripts that never compose would else break words at every vowel sign.
    return not character.isascii() and unicodedata.category(character)[0] == "M"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What the user turns of one template must and must not say."""

    first_turn: tuple[str, ...]
    """Visible slots: initial value in the first turn."""
    anywhere: tuple[str, ...]
    """Slots whose final value some user turn says."""
    omitted: tuple[str, ...]
    """Slots whose final value the first turn does not say."""
    tools: tuple[tuple[str, str], ...]
    """Name and folded name."""
    phrases: tuple[tuple[str, str], ...]
    """Phrase and folded phrase."""


def guards(template: Template, tool_names: Sequence[str]) -> Guards:
    """The guards of a template; `tool_names` are those its user turns may not say."""
    asked = template.paraphrase
    hidden = [name for name, slot in template.slots.items() if slot.visible_in_first_turn is False]
    phrases = [phrase for phrase in asked.must_not_mention if phrase != TOOL_NAMES and phrase]
    return Guards(
        first_turn=tuple(name for name, slot in template.slots.items() if slot.visible_in_first_turn),
        anywhere=_known(asked.must_preserve, template),
        omitted=tuple(dict.fromkeys([*hidden, *_known(asked.must_omit, template)])),
        tools=tuple((name, fold(name)) for name in tool_names if name),
        phrases=tuple((phrase, fold(phrase)) for phrase in phrases),
    )


def violations(rules: Guards, task: Task, user_turns: Sequence[str]) -> tuple[Violation, ...]:
    """Guards that the user turns of a task break: preserved slots, omitted slots, tools, phrases; each once.

    `user_turns` in conversation order, the first turn first. Rule: generation.md §3.3.
    """
    turns = [unicodedata.normalize("NFC", turn) for turn in user_turns]
    first = turns[0]
    missing = [name for name in rules.first_turn if not _says([first], task.slots_initial[name])]
    for delivery in task.slot_updates:
        # A name that no text can write stands for a value that only an argument takes.
        spoken = {name: value for name, value in delivery.values.items() if is_identifier(name)}
        missing += [name for name, value in spoken.items() if not _says(turns, value)]
    missing += [name for name in rules.anywhere if not _says(turns, task.slots[name])]
    found = [Violation(guard="must_preserve", key="slot", value=name) for name in dict.fromkeys(missing)]
    found += [
        Violation(guard="must_omit", key="slot", value=name)
        for name in rules.omitted
        if _says([first], task.slots[name])
    ]
    if rules.tools or rules.phrases:
        folded = [fold(turn) for turn in turns]
        # Names are many and hardly ever said: one look at all turns together rules nearly every one out.
        together = "\n".join(folded)
        for name, word in rules.tools:
            if word in together and any(_names_word(turn, word) for turn in folded):
                found.append(Violation(guard="must_not_mention", key="tool", value=name))
        for phrase, part in rules.phrases:
            if any(part in turn for turn in folded):
                found.append(Violation(guard="must_not_mention", key="phrase", value=phrase))
    return tuple(found)


def _says(turns: Sequence[str], value: Json) -> bool:
    text = unicodedata.normalize("NFC", text_form(value))
    return any(_mentions(turn, text) for turn in turns)


def _known(names: Sequence[str], template: Template) -> tuple[str, ...]:
    # A misspelt slot name is a problem of the template check, not a reason to break here.
    return tuple(name for name in dict.fromkeys(names) if name in template.slots)
