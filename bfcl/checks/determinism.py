"""Check D1: does every probe come out the same in two unlike worlds, and again after `reset`? Rule: pack.md §11."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from bfcl.checks.findings import Findings, Subject, at_definition, is_infrastructure, placed, where
from bfcl.checks.probes import Probes, at_case, breakage, probes
from bfcl.oracle.protocol import Breakdown, Replayed
from bfcl.oracle.suspects import suspect_lines
from bfcl.pack.fingerprint import read_entry
from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding
from bfcl.stages.divergence import differences

RESULT: Final = "nondeterministic_result"
STATE: Final = "nondeterministic_state"

_SUSPECTS_SHOWN: Final = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """What is held against the first run, and the words for both."""

    what: str
    first: str
    other: str
    only_first: str
    only_other: str
    fix: str


_WORLDS: Final = _Comparison(
    what="in two worlds",
    first="in world A",
    other="in world B",
    only_first="in world A only",
    only_other="in world B only",
    fix="take time, randomness and ids from `ctx`, and sort what comes out of a set",
)
_AGAIN: Final = _Comparison(
    what="when the same process played it again",
    first="at first",
    other="again",
    only_first="the first time only",
    only_other="the second time only",
    fix="let `reset` restore everything that calls change",
)


class _Differs(NamedTuple):
    """A finding, and whether it is about what comes before the first probe: the same for every chain."""

    finding: Finding
    of_reset: bool


def check(subject: Subject) -> Findings:
    """Equal results and states of every probe, its whole chain before it, in both worlds and in one process twice.

    Every tool has a success to show it with. Raises: OracleError if no episode can run at all.
    """
    pack, played = subject.pack, probes(subject)
    told: set[tuple[str, str]] = set()
    failures = []
    for chain, pair in zip(played.chains, played.replayed, strict=True):
        for finding, of_reset in _unlike(pack, chain, pair):
            # Every chain begins with the same reset: its fault is told once.
            if not of_reset or (finding.code, finding.fix or "") not in told:
                failures.append(finding)
            if of_reset:
                told.add((finding.code, finding.fix or ""))
    if failures:
        suspects = _told(subject.oracle.suspects())
        failures = [dataclasses.replace(one, message=one.message + suspects) for one in failures]
    # Where something differs, the failures name the lines.
    warnings = [] if failures else list(suspects_of(pack))
    return Findings([*failures, *_unobserved(pack, played)], warnings)


def suspects_of(pack: Pack) -> Iterator[Finding]:
    """A warning for each line of the pack's Python that takes something from around it: worlds may agree by luck.

    Raises: DriftError `pack_drift` where a file is not as it was when the pack was loaded.
    """
    for logical in sorted(pack.paths):
        if not logical.endswith(".py"):
            continue
        source = read_entry(pack, logical)
        for line, what in suspect_lines(source):
            yield Finding(
                code="ambient_suspect",
                message=f"{what}; what comes of it may differ in another process",
                file=logical.removeprefix("tree/"),
                line=line,
                fix=_WORLDS.fix,
            )


def _unlike(pack: Pack, chain: Sequence[int], pair: Replayed) -> Iterator[_Differs]:
    """What differs between the worlds; where nothing does, between the first run and its repetition."""
    found = list(_compared(pack, chain, pair, _WORLDS))
    if not found and pair.further.also:
        found = list(_compared(pack, chain, Replayed(pair.further, pair.further.also[0]), _AGAIN))
    yield from found


def _compared(pack: Pack, chain: Sequence[int], pair: Replayed, how: _Comparison) -> Iterator[_Differs]:
    first, other = pair
    unlike_states = [_unlike_at(number, first.states, other.states, "state", how) for number in range(len(chain) + 1)]
    # What differs behind the first call that leaves another state follows from it.
    parting = next((number for number, differs in enumerate(unlike_states) if differs is not None), None)
    if parting == 0:
        message = f"`reset` leaves another state {how.what}: {unlike_states[0]}"
        found = at_definition(pack, "backend", "reset", Finding(code=STATE, message=message, fix=how.fix))
        yield _Differs(found, of_reset=True)
    for position, index in enumerate(chain):
        tool = pack.cases[index].tool
        differs = _unlike_at(position, first.results, other.results, "result", how)
        if differs is not None:
            message = f"`{tool}` answers otherwise {how.what}: {differs}"
            yield _Differs(at_case(pack, index, "", Finding(code=RESULT, message=message, fix=how.fix)), of_reset=False)
        if parting == position + 1:
            message = f"`{tool}` leaves another state {how.what}: {unlike_states[parting]}"
            yield _Differs(at_case(pack, index, "", Finding(code=STATE, message=message, fix=how.fix)), of_reset=False)
    yield from _broken_once(pack, chain, pair, how)


def _unlike_at(position: int, first: Sequence[str], other: Sequence[str], root: str, how: _Comparison) -> str | None:
    """Where two runs' values (canonical text) at a position part, in words; None where both got there alike or not."""
    if position >= min(len(first), len(other)) or first[position] == other[position]:
        return None
    found = next(differences(json.loads(first[position]), json.loads(other[position]), root), None)
    if found is None:
        raise AssertionError("two canonical texts differ but their values do not")
    return f"`{found.path}` is {found.left} {how.first}, {found.right} {how.other}"


def _broken_once(pack: Pack, chain: Sequence[int], pair: Replayed, how: _Comparison) -> Iterator[_Differs]:
    """An episode that broke in one of its two runs. What broke in the first is check 5's if it was stopped or died."""
    broken = [run.breakdown for run in pair]
    if (broken[0] is None) == (broken[1] is None):
        return
    (breakdown,) = (one for one in broken if one is not None)
    first = broken[0] is not None
    if first and is_infrastructure(breakdown.code):
        return
    run = pair[0] if first else pair[1]
    found = breakage(pack, chain[min(len(run.results), max(len(run.states) - 1, 0), len(chain) - 1)], breakdown)
    found = dataclasses.replace(found, message=f"{how.only_first if first else how.only_other}: {found.message}")
    if not is_infrastructure(found.code):
        code = STATE if breakdown.phase in ("reset", "state") else RESULT
        found = dataclasses.replace(found, code=code, fix=how.fix)
    if run.results or breakdown.phase == "call":
        yield _Differs(found, of_reset=False)
    else:
        told = dataclasses.replace(found, pointer=None, case_id=None, tool=None)
        yield _Differs(_at_code(pack, breakdown, told), of_reset=True)


def _at_code(pack: Pack, breakdown: Breakdown, finding: Finding) -> Finding:
    file, line = where(breakdown)
    if file is not None:
        return dataclasses.replace(finding, file=file, line=line)
    return at_definition(pack, "backend", "get_state" if breakdown.phase == "state" else "reset", finding)


def _told(suspects: Sequence[str]) -> str:
    if not suspects:
        return ""
    more = f"; and {len(suspects) - _SUSPECTS_SHOWN} more" if len(suspects) > _SUSPECTS_SHOWN else ""
    return "; suspect lines: " + "; ".join(suspects[:_SUSPECTS_SHOWN]) + more


def _unobserved(pack: Pack, played: Probes) -> Iterator[Finding]:
    for index, tool in enumerate(pack.tools):
        if not played.successes(tool.name):
            message = f"`{tool.name}` shows no success to compare; expected at least one probe that succeeds"
            fix = played.success_fix(pack, tool.name)
            found = Finding(code="no_success_observation", message=message, tool=tool.name, fix=fix)
            yield placed(pack, "tools", (index, "function", "name"), found)
