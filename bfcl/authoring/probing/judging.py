"""What do a template's assertions say to each mutant, and does a mutant that passes count against them?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

from bfcl.authoring.probing.mutant import KINDS, Expected, Mutant
from bfcl.oracle.protocol import Episode, EpisodeResult, Oracle

Verdict: TypeAlias = Literal["killed", "survived", "equivalent", "tolerated", "broken"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)

_AT_ONCE: Final = 256
"""Episodes of one request: each carries a whole state, and all of a large pack's would not fit the memory."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A mutant and what became of it. `result` holds every assertion's outcome, or how the episode broke."""

    mutant: Mutant
    verdict: Verdict
    result: EpisodeResult


def chosen(mutants: Sequence[Mutant], limit: int) -> list[Mutant]:
    """At most `limit` mutants of each kind, spread evenly over all there are; kinds in the order of `KINDS`."""
    found = []
    for kind in KINDS:
        of_kind = [mutant for mutant in mutants if mutant.kind == kind]
        count = min(limit, len(of_kind))
        found += [of_kind[number * len(of_kind) // count] for number in range(count)]
    return found


def judge(oracle: Oracle, work: Sequence[tuple[Expected, Sequence[Mutant]]]) -> list[list[Judged]]:
    """Every mutant judged, grouped as they came. Raises: OracleError if no episode can run at all."""
    results = _run(oracle, (_episode(expected, mutant) for expected, mutants in work for mutant in mutants))
    return [[_judged(expected, mutant, next(results)) for mutant in mutants] for expected, mutants in work]


def _judged(expected: Expected, mutant: Mutant, result: EpisodeResult) -> Judged:
    return Judged(mutant=mutant, verdict=verdict(expected, mutant, result), result=result)


def _run(oracle: Oracle, episodes: Iterator[Episode]) -> Iterator[EpisodeResult]:
    while batch := [episode for _, episode in zip(range(_AT_ONCE), episodes, strict=False)]:
        yield from oracle.run(batch)


def _episode(expected: Expected, mutant: Mutant) -> Episode:
    return dataclasses.replace(expected.episode, calls=mutant.calls or (), given=mutant.given)


def verdict(expected: Expected, mutant: Mutant, result: EpisodeResult) -> Verdict:
    """Whether the assertions tell a mutant from the expected conversation.

    `broken`: the episode did not come to its assertions. `killed`: one failed, or broke, which scoring does not pass
    either. One that does not apply kills nothing. Mutants that pass and still do not count against the assertions:
    `equivalent`, a changed argument with the same answers and the same final state; `tolerated`, a repeated call with
    the same answer again and the same final state, or a further call beside the expected ones that left the state
    alone.
    """
    if result.breakdown is not None:
        return "broken"
    if kills(result):
        return "killed"
    if mutant.calls is None or result.states[-1:] != (expected.after,):
        return "survived"
    if mutant.kind == "change_argument" and result.results == expected.texts:
        return "equivalent"
    if mutant.kind == "repeat_call" and mutant.call is not None:
        again = result.results[mutant.call : mutant.call + 2]
        rest = result.results[: mutant.call + 1] + result.results[mutant.call + 2 :]
        return "tolerated" if again[0] == again[1] and rest == expected.texts else "survived"
    if mutant.kind == "extra_call" and expected.episode.calls:
        return "tolerated"
    return "survived"


def kills(result: EpisodeResult) -> dict[str, str]:
    """Assertions that would not let a result pass, each with its status: `failed`, or `error` where it broke."""
    return {one.name: one.status for one in result.assertions if one.status in ("failed", "error")}


def counted(judged: Sequence[Judged]) -> dict[str, int]:
    """How many mutants came to each verdict."""
    return {verdict: sum(one.verdict == verdict for one in judged) for verdict in VERDICTS}


def score(counts: Mapping[str, int]) -> float | None:
    """killed / (killed + survived); None where no mutant counts."""
    told = counts["killed"] + counts["survived"]
    return None if not told else round(counts["killed"] / told, 4)
