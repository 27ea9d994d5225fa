"""What is told of a probing: scores, what slips through, which assertions never fail? The document and its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bfcl.authoring.probing.judging import VERDICTS, Judged, counted, kills, score
from bfcl.authoring.probing.mutant import KINDS, Kind
from bfcl.authoring.probing.probe import Probed, Probing
from bfcl.canonical import Json
from bfcl.checks.findings import from_breakdown
from bfcl.records.verdict import Finding

SCHEMA_VERSION: Final = "1.0"
WEAK: Final = "weak_assertion"
FRAGILE: Final = "fragile_assertion"
_NAMED: Final = 3
"""Things to look at that a fix names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """Mutants of one kind about one call that every assertion let pass."""

    kind: Kind
    call: int | None
    judged: tuple[Judged, ...]

    def look_at(self, most: int | None = None) -> str:
        """What an assertion would have to look at to tell them, each thing once, at most `most` of them by name."""
        things = list(dict.fromkeys(one.mutant.look_at for one in self.judged))
        left_out = 0 if most is None else max(0, len(things) - most)
        more = f" and {left_out} more" if left_out else ""
        return ", ".join(things[: len(things) - left_out]) + more + self.judged[0].mutant.within

    def ran(self, status: str) -> list[str]:
        """Assertions that came to `status` on one of them, in declared order."""
        outcomes = (outcome for one in self.judged for outcome in one.result.assertions)
        return list(dict.fromkeys(outcome.name for outcome in outcomes if outcome.status == status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One assertion over all templates that name it. `tried` counts mutants that it killed or that passed them all."""

    name: str
    line: int | None
    templates: tuple[str, ...]
    tried: int
    kills: int
    errors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A probing weighed. `low` are templates whose score is below the wanted one."""

    probing: Probing
    standings: tuple[Standing, ...]
    weak: tuple[Finding, ...]
    fragile: tuple[Finding, ...]
    faults: tuple[Finding, ...]
    """Why templates could not be probed."""
    broken: tuple[Finding, ...]
    """Mutants that broke the oracle itself, the first of each kind of breakage a template."""
    low: tuple[str, ...]
    min_score: float | None

    @property
    def good(self) -> bool:
        """No weak assertion, no template left unprobed, none below the wanted score."""
        return not (self.weak or self.faults or self.low)


def weigh(probing: Probing, *, min_score: float | None = None) -> Report:
    """Add up what the mutants showed. An assertion is called weak only where every template naming it was probed."""
    standings = tuple(_standing(probing, name) for name in _names(probing))
    return Report(
        probing=probing,
        standings=standings,
        weak=tuple(_weak(probing, one) for one in standings if _is_weak(probing, one)),
        fragile=tuple(_fragile(probing)),
        faults=tuple(fault for one in probing.probed for fault in one.faults),
        broken=tuple(finding for one in probing.probed for finding in _broken(one)),
        low=tuple(one.template.template_id for one in probing.probed if _is_low(one, min_score)),
        min_score=min_score,
    )


def _is_low(probed: Probed, min_score: float | None) -> bool:
    reached = template_score(probed)
    return min_score is not None and reached is not None and reached < min_score


def template_score(probed: Probed) -> float | None:
    """killed / (killed + survived) of one template; None where no mutant counts."""
    return score(counted(probed.judged))


def slips(probed: Probed) -> list[Slip]:
    """What slips through a template's assertions, most telling first, grouped by kind and call."""
    groups: dict[tuple[Kind, int | None], list[Judged]] = {}
    for one in probed.judged:
        if one.verdict == "survived":
            groups.setdefault((one.mutant.kind, one.mutant.call), []).append(one)
    order = sorted(groups, key=lambda key: (KINDS.index(key[0]), -1 if key[1] is None else key[1]))
    return [Slip(kind=kind, call=call, judged=tuple(groups[kind, call])) for kind, call in order]


# --- assertions -----------------------------------------------------------------------------------------------------


def _names(probing: Probing) -> list[str]:
    """Assertions that probed templates name, in the order the pack exports them."""
    used = {name for one in probing.probed for name in one.template.success_assertions}
    return [info.name for info in probing.exported if info.name in used]


def _standing(probing: Probing, name: str) -> Standing:
    users = [one for one in probing.probed if name in one.template.success_assertions]
    outcomes = [kills(one.result).get(name) for one in _told(users)]
    return Standing(
        name=name,
        line=next(info.line for info in probing.exported if info.name == name),
        templates=tuple(one.template.template_id for one in users),
        tried=len(outcomes),
        kills=sum(outcome is not None for outcome in outcomes),
        errors=sum(outcome == "error" for outcome in outcomes),
    )


def _told(probed: Sequence[Probed]) -> Iterator[Judged]:
    return (one for each in probed for one in each.judged if one.verdict in ("killed", "survived"))


def _is_weak(probing: Probing, standing: Standing) -> bool:
    users = {one.template_id for one in probing.pack.templates if standing.name in one.success_assertions}
    probed = {one.template.template_id for one in probing.probed if not one.faults}
    # One that only breaks has noticed nothing: it read from what was not there.
    return users <= probed and standing.tried > 0 and standing.kills == standing.errors


def _weak(probing: Probing, standing: Standing) -> Finding:
    users = [one for one in probing.probed if standing.name in one.template.success_assertions]
    through = [slip for one in users for slip in slips(one)]
    many = len(standing.templates)
    breaks = f" (and breaks on {standing.errors})" if standing.errors else ""
    shown = f"`{standing.templates[0]}`" if many == 1 else f"{many} templates"
    fix = (
        f"let it look at {through[0].look_at(_NAMED)}, which nothing else looks at; or remove it"
        if through
        else "others catch all of them: let it state what only it can tell, or remove it"
    )
    return Finding(
        code=WEAK,
        message=f"`{standing.name}` fails on none of {standing.tried} mutants of {shown}{breaks}; "
        "expected one at least",
        file=probing.pack.shown_path("assertions"),
        line=standing.line,
        detail=standing.name,
        fix=fix,
    )


def _fragile(probing: Probing) -> Iterator[Finding]:
    """One finding for each assertion that broke where it should have failed, with a mutant that did it.

    Calls that were really made say more than a forged answer.
    """
    killed = [(one, each.template) for each in probing.probed for one in each.judged if one.verdict == "killed"]
    killed.sort(key=lambda pair: pair[0].mutant.calls is None)
    lines = {info.name: info.line for info in probing.exported}
    seen: dict[str, Finding] = {}
    for one, template in killed:
        for outcome in one.result.assertions:
            if outcome.status != "error" or outcome.name in seen:
                continue
            seen[outcome.name] = Finding(
                code=FRAGILE,
                message=f"`{outcome.name}` breaks instead of failing where {one.mutant.what}: {outcome.detail}",
                file=probing.pack.shown_path("assertions"),
                line=lines.get(outcome.name),
                template_id=template.template_id,
                detail=outcome.name,
                fix="test for a missing call, row or field before reading from it",
            )
    yield from (seen[name] for name in _names(probing) if name in seen)


def _broken(probed: Probed) -> Iterator[Finding]:
    seen: set[tuple[str, str | None]] = set()
    for one in probed.judged:
        breakdown = one.result.breakdown
        if breakdown is None or (breakdown.code, breakdown.where) in seen:
            continue
        seen.add((breakdown.code, breakdown.where))
        found = from_breakdown(breakdown)
        message = f"the oracle breaks where {one.mutant.what}: {found.message}"
        yield replace(found, message=message, template_id=probed.template.template_id)


# --- the document ---------------------------------------------------------------------------------------------------


def document(report: Report) -> dict[str, Json]:
    """The report as data, a function of the pack and the flags alone."""
    probing = report.probing
    every = [one for each in probing.probed for one in each.judged]
    counts = counted(every)
    totals: dict[str, Json] = {
        "templates": len(probing.probed),
        "probed": sum(not one.faults for one in probing.probed),
        "mutants": len(every),
        **counts,
        "score": score(counts),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "pass" if report.good else "weak",
        "pack_id": probing.pack.manifest.pack_id,
        "version": probing.pack.manifest.version,
        "pack_fingerprint": probing.pack.fingerprint,
        "limit": probing.limit,
        "min_score": report.min_score,
        "below_min_score": list(report.low),
        "templates": [_template(one) for one in probing.probed],
        "assertions": [_assertion(one) for one in report.standings],
        "weak_assertions": [_finding(one) for one in report.weak],
        "fragile_assertions": [_finding(one) for one in report.fragile],
        "broken_mutants": [_finding(one) for one in report.broken],
        "unprobed": [_finding(one) for one in report.faults],
        "totals": totals,
    }


def _template(probed: Probed) -> dict[str, Json]:
    return {
        "template_id": probed.template.template_id,
        "turn_policy": probed.template.turn_policy,
        "assertions": list(probed.template.success_assertions),
        "score": template_score(probed),
        "mutants": {
            **counted(probed.judged),
            "by_kind": {kind: _by_kind(probed, kind) for kind in KINDS if _of_kind(probed, kind)},
        },
        "survivors": [_slip(slip) for slip in slips(probed)],
    }


def _of_kind(probed: Probed, kind: Kind) -> list[Judged]:
    return [one for one in probed.judged if one.mutant.kind == kind]


def _by_kind(probed: Probed, kind: Kind) -> dict[str, Json]:
    counts = counted(_of_kind(probed, kind))
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def _slip(slip: Slip) -> dict[str, Json]:
    return {
        "kind": slip.kind,
        "call": slip.call,
        "mutants": [one.mutant.what for one in slip.judged],
        "passed": slip.ran("passed"),
        "not_applicable": slip.ran("not_applicable"),
        "look_at": slip.look_at(),
    }


def _assertion(standing: Standing) -> dict[str, Json]:
    return {
        "name": standing.name,
        "line": standing.line,
        "templates": list(standing.templates),
        "mutants": standing.tried,
        "kills": standing.kills,
        "errors": standing.errors,
    }


def _finding(finding: Finding) -> dict[str, Json]:
    return {**finding.to_json(), "fix": finding.fix}
