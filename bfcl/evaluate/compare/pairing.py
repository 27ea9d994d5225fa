"""Which candidate call goes with which gold call, so that as many as possible go together? Rule: evaluation.md §8.

Compatibility is no equivalence, since an unconstrained argument fits several gold calls: taking the first that fits
can fail a correct turn. Hence a maximum matching, made unique by the order of gold calls and of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence


def pair(fits: Sequence[Sequence[int]]) -> list[int | None]:
    """The call that each gold call claims, or None; `fits[gold]` lists the calls that fit it, ascending.

    No other pairing is larger. Among those as large, the earliest gold calls are served, and then each in turn claims
    the earliest call it can: a reply that fits position by position is paired so.
    """
    pairing = _Pairing(fits)
    for gold in range(len(fits)):
        pairing.serve(gold, set())
    pairing.settle()
    return pairing.claims


class _Pairing:
    def __init__(self, fits: Sequence[Sequence[int]]) -> None:
        self._fits = fits
        self._holders: dict[int, int] = {}
        """Call to the gold call that claims it."""
        self.claims: list[int | None] = [None] * len(fits)

    def serve(self, gold: int, seen: set[int | None]) -> bool:
        """Find `gold` a call that is not in `seen`, others moving on where that helps. A failure changes nothing."""
        for call in self._fits[gold]:
            if call in seen:
                continue
            seen.add(call)
            holder = self._holders.get(call)
            if holder is None or self.serve(holder, seen):
                self._take(gold, call)
                return True
        return False

    def settle(self) -> None:
        """Move every gold call, in order, to the earliest call that leaves the pairing as large as it is."""
        settled: set[int | None] = set()
        for gold, fits in enumerate(self._fits):
            claimed = self.claims[gold]
            if claimed is None:
                continue
            for call in fits:
                if call == claimed or (call not in settled and self._moves(gold, claimed, call, settled)):
                    break
            settled.add(self.claims[gold])

    def _moves(self, gold: int, claimed: int, call: int, settled: set[int | None]) -> bool:
        holder = self._holders.get(call)
        del self._holders[claimed]
        self._take(gold, call)
        if holder is None or self.serve(holder, {*settled, call}):
            return True
        self._take(gold, claimed)
        self._holders[call] = holder
        return False

    def _take(self, gold: int, call: int) -> None:
        self._holders[call] = gold
        self.claims[gold] = call
