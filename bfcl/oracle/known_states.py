"""What does a world mean by a state that it names by number? The parent's side of `recall`."""

from __future__ import annotations

from bfcl.oracle import wire


class KnownStates:
    """The states that one world has told and may tell again by number alone."""

    def __init__(self) -> None:
        self._texts: dict[int, bytes] = {}

    def spelled(self, answer: bytes) -> bytes:
        """The answer with every state as text. One that is garbled comes back as it is: whoever reads it will tell."""
        try:
            records = list(wire.records(answer))
            if not any(kind in (wire.KNOWN_STATE, wire.LEARNED) for kind, _ in records):
                return answer
            told = []
            state = b""
            for kind, text in records:
                if kind == wire.KNOWN_STATE:
                    told.append(wire.record(wire.STATE, self._texts[wire.read_numbers(text)[0]]))
                elif kind == wire.LEARNED:
                    number, forgotten = wire.read_numbers(text)
                    self._texts.pop(forgotten, None)
                    self._texts[number] = state
                else:
                    told.append(wire.record(kind, text))
                    state = text if kind == wire.STATE else state
        except (ValueError, KeyError):
            return answer
        return b"".join(told)
