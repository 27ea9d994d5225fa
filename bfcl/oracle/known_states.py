"""What does a world mean by a state that it names by number? The parent's side of `recall`."""

from __future__ import annotations

from bfcl.oracle import wire


class KnownStates:
    """The states that one world has told and may tell again by number alone."""

    def __init__(self) -> None:
        self._texts: dict[int, bytes] = {}

    def spelled(self, answer: bytes) -> wire.Answer:
        """The records of an answer, every state as text. A garbled one is one record of no kind that anybody knows."""
        told: list[tuple[bytes, bytes]] = []
        state = b""
        try:
            for kind, text in wire.records(answer):
                if kind in (wire.STATE, wire.KNOWN_STATE, wire.SAME_STATE):
                    state = self._read(kind, text, state)
                    told.append((wire.STATE, state))
                elif kind == wire.LEARNED:
                    number, forgotten = wire.read_numbers(text)
                    self._texts.pop(forgotten, None)
                    self._texts[number] = state
                else:
                    told.append((kind, text))
        except (ValueError, KeyError):
            return ((wire.GARBLED, b""),)
        return tuple(told)

    def _read(self, kind: bytes, text: bytes, before: bytes) -> bytes:
        """The text of a state, `before` being that of the one told last. Raises: ValueError, KeyError."""
        if kind == wire.KNOWN_STATE:
            return self._texts[wire.read_numbers(text)[0]]
        if kind == wire.SAME_STATE and not before:
            raise ValueError("no state was told that could come again")
        return before if kind == wire.SAME_STATE else text
