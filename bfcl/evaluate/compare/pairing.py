"""Which candidate call goes with which gold call, so that as many as possible go together? Rule: evaluation.md §8.

Compatibility is no equivalence, since an unconstrained argument fits several gold calls: taking the first that fits
can fail a correct turn. Hence a maximum matching, made unique by the order of gold calls and of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence


def pair(fits: Sequence[Sequence[int]]) -> list[int | None]:
    """The call that each gold call claims, or None; `fits[gold]` lists the calls that fit it, ascending.

    No other pairing is larger. Among those as large, one in which nothing crosses is taken: calls that stand in the
    order of the gold calls are paired so. Where there is none, the earliest gold calls are served, and then each in
    turn claims the earliest call it can.
    """
    pairing = _Pairing(fits)
    for gold in range(len(fits)):
        pairing.serve(gold, set())
    in_order = _uncrossed(fits)
    if _size(in_order) == _size(pairing.claims):
        return in_order
    pairing.settle()
    return pairing.claims


def _size(claims: Sequence[int | None]) -> int:
    return sum(call is not None for call in claims)


def _uncrossed(fits: Sequence[Sequence[int]]) -> list[int | None]:
    """The largest pairing in which nothing crosses; the earliest gold calls and then the earliest calls break ties."""
    width = 1 + max((call for row in fits for call in row), default=-1)
    # best[gold][call]: pairs that gold calls from `gold` on can make with calls from `call` on.
    best = [[0] * (width + 1) for _ in range(len(fits) + 1)]
    for gold in range(len(fits) - 1, -1, -1):
        fitting = set(fits[gold])
        for call in range(width - 1, -1, -1):
            paired = 1 + best[gold + 1][call + 1] if call in fitting else 0
            best[gold][call] = max(paired, best[gold + 1][call], best[gold][call + 1])
    claims: list[int | None] = [None] * len(fits)
    start = 0
    for gold, row in enumerate(fits):
        wanted = best[gold][start]
        for call in row:
            if call >= start and 1 + best[gold + 1][call + 1] == wanted:
                claims[gold], start = call, call + 1
                break
    return claims


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
