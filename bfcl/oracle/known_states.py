"""What does a world mean by the parts of a state that it names by number? The parent's side of `recall`."""

from __future__ import annotations

from bfcl.oracle import wire

_RECENT = 16


class KnownStates:
    """The parts of states that one world has told and may tell again by number alone."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[bytes, bytes]] = {}
        """Number to label and text."""
        self._recent: dict[tuple[int, ...], bytes] = {}
        """Texts of states that consist of known parts, the one told last at the end: one object for all that end so."""

    def spelled(self, answer: bytes) -> wire.Answer:
        """The records of an answer, every state as text. A garbled one is one record of no kind that anybody knows."""
        told: list[tuple[bytes, bytes]] = []
        state, new = b"", list[tuple[bytes, bytes]]()
        try:
            for kind, text in wire.records(answer):
                if kind == wire.STATE_PARTS:
                    state, new = self._read(text)
                elif kind == wire.STATE:
                    state, new = text, []
                elif kind == wire.SAME_STATE:
                    if not state:
                        raise ValueError("no state was told that could come again")
                elif kind == wire.LEARNED:
                    self._parts |= zip(wire.read_numbers(text), new, strict=True)
                    continue
                elif kind == wire.FORGOTTEN:
                    for number in wire.read_numbers(text):
                        del self._parts[number]
                    continue
                else:
                    told.append((kind, text))
                    continue
                told.append((wire.STATE, state))
        except (ValueError, KeyError):
            return ((wire.GARBLED, b""),)
        return tuple(told)

    def _read(self, told: bytes) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """The text of a state, and label and text of its new parts. Raises: ValueError, KeyError."""
        parts, new, numbers = [], [], []
        for number, label, text in wire.read_parts(told):
            part = self._parts[number] if number else (label, text)
            parts.append(part)
            numbers.append(number)
            if not number:
                new.append(part)
        if new:
            return _whole(parts), new
        key = tuple(numbers)
        self._recent[key] = state = self._recent.pop(key, None) or _whole(parts)
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        return state, new


def _whole(parts: list[tuple[bytes, bytes]]) -> bytes:
    if len(parts) == 1 and not parts[0][0]:
        return parts[0][1]
    return b"{" + b",".join(label + b":" + text for label, text in parts) + b"}"
