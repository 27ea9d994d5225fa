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
                if kind == wire.KNOWN_STATE:
                    told.append((wire.STATE, self._texts[wire.read_numbers(text)[0]]))
                elif kind == wire.LEARNED:
                    number, forgotten = wire.read_numbers(text)
                    self._texts.pop(forgotten, None)
                    self._texts[number] = state
                else:
                    told.append((kind, text))
                    state = text if kind == wire.STATE else state
        except (ValueError, KeyError):
            return ((wire.GARBLED, b""),)
        return tuple(told)
