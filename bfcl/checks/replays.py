"""Do the representatives replay alike in two worlds, and do their assertions pass for them and for nobody idle?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Final

from bfcl.checks.findings import placed, where
from bfcl.checks.kept import steady_breakdowns
from bfcl.checks.representatives import Bench, Representative
from bfcl.checks.vacuous import Tried, fragile, trials, untouched_state, vacuous
from bfcl.located import Pointer
from bfcl.oracle.protocol import Breakdown, Replayed
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import AssertionOutcome, Finding, ReplayVerdict
from bfcl.stages.divergence import first_difference, shortened
from bfcl.stages.executable_replay import ASSERTION_FAILED, FAILED, episode, judge

ASSERTION_BROKEN: Final = "assertion_infrastructure_error"
"""An assertion that did neither pass, fail nor decline."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one representative's episodes showed: its two replays, the stage's verdict on them, the undone trials."""

    representative: Representative
    template: Template
    replayed: Replayed
    judged: ReplayVerdict
    tried: tuple[Tried, ...]

    @property
    def steady(self) -> bool:
        """Whether no run was stopped at a deadline or died: only then does what was seen come again."""
        runs = (run for world in self.replayed for run in (world, *world.also))
        return steady_breakdowns(run.breakdown for run in runs)


def play(bench: Bench, representatives: Sequence[Representative]) -> list[Shown]:
    """Replay every representative twice and try the candidates that leave its work undone, all in one request.

    The trials are further runs of the same episodes: a process of their own would cost more than they do.
    Raises: OracleError if no episode can run at all.
    """
    pack, oracle = bench.subject.pack, bench.subject.oracle
    expected = [episode(each.task, each.trace, bench.wording.language) for each in representatives]
    undone = [trials(one, bench.catalog, pack.manifest.confirmation) for one in expected]
    episodes = [
        dataclasses.replace(one, also=tuple(trial.calls for trial in several))
        for one, several in zip(expected, undone, strict=True)
    ]
    replayed = oracle.replay(episodes) if episodes else []
    suspects = oracle.suspects() if any(pair.a != pair.b for pair in replayed) else ()
    return [
        Shown(
            representative=each,
            template=pack.templates[each.index],
            replayed=pair,
            judged=judge(each.task, each.trace, each.schema, pair, suspects),
            tried=tuple(zip(several, pair.a.also, strict=False)),
        )
        for each, pair, several in zip(representatives, replayed, undone, strict=True)
    ]


def failures(pack: Pack, shown: Shown) -> Iterator[Finding]:
    """Why a representative does not replay, with the stage's own reason as detail, and whether its assertions bite."""
    index, judged, pair = shown.representative.index, shown.judged, shown.replayed
    if judged.reason == ASSERTION_FAILED:
        for position, outcome in enumerate(pair.a.assertions):
            if not outcome.passed:
                yield _at(pack, index, ("success_assertions", position), _failed(outcome))
    elif judged.reason is not None:
        yield _broken(pack, index, judged, pair)
    template = shown.template
    claims = template.mutates and template.turn_policy != "negative_path"
    found = vacuous(shown.tried, pair.a, claims_mutation=claims)
    if found is not None:
        yield _at(pack, index, ("success_assertions",), found)
    for trial, result in shown.tried:
        if result.breakdown is not None:
            yield _stopped(pack, index, trial.what, result.breakdown)


def _stopped(pack: Pack, index: int, what: str, breakdown: Breakdown) -> Finding:
    """An episode of undone work that broke: every candidate that leaves it undone would break it too."""
    message = f"the episode of a candidate that {what} broke: {breakdown.message}"
    finding = _at(pack, index, (), Finding(code=breakdown.code, message=message, detail=what))
    return _at_own_line(finding, breakdown)


def _failed(outcome: AssertionOutcome) -> Finding:
    does_not_apply = outcome.status == "not_applicable"
    said = outcome.detail or ("it does not apply" if does_not_apply else "it failed without a message")
    return Finding(
        code="assertion_not_applicable" if does_not_apply else ASSERTION_FAILED,
        message=f"`{outcome.name}` does not pass on the expected calls: {said}",
        detail=ASSERTION_FAILED,
    )


def _broken(pack: Pack, index: int, judged: ReplayVerdict, pair: Replayed) -> Finding:
    """Worlds that differ, an episode that broke, or an assertion that did."""
    reason = judged.reason or FAILED
    breakdown = (pair.a.breakdown or pair.b.breakdown) if reason == FAILED else None
    of_assertion = breakdown is None and (judged.detail or "").startswith(ASSERTION_BROKEN)
    code = breakdown.code if breakdown is not None else ASSERTION_BROKEN if of_assertion else reason
    message = (judged.detail or reason).removeprefix(f"{code}: ")
    field = ("success_assertions",) if of_assertion else ()
    finding = _at(pack, index, field, Finding(code=code, message=message, detail=reason))
    return finding if breakdown is None else _at_own_line(finding, breakdown)


def _at_own_line(finding: Finding, breakdown: Breakdown) -> Finding:
    """Placed where the pack's own code stood, where that is known: it says more than the template's line."""
    if breakdown.where is None:
        return finding
    file, line = where(breakdown)
    return dataclasses.replace(finding, file=file, line=line, pointer=None)


def warnings(pack: Pack, shown: Shown) -> Iterator[Finding]:
    """Expected calls that are refused, changes nobody declared, assertions that break on unfinished work."""
    index, template = shown.representative.index, shown.template
    for result in shown.judged.tool_results:
        if isinstance(result.result.get("error"), dict) and template.turn_policy != "negative_path":
            message = f"expected call `{result.tool}` is refused: {shortened(result.result)}"
            fix = "bind values the tool accepts, or set `turn_policy: negative_path`"
            yield _at(pack, index, (), Finding(code="gold_call_refused", message=message, tool=result.tool, fix=fix))
    before, after = untouched_state(shown.tried), shown.replayed.a.states[-1:]
    if not template.mutates and before is not None and after and after[0] != before:
        changed = first_difference(json.loads(before), json.loads(after[0]))
        seen = "" if changed is None else f": `{changed.path}` was {changed.left} and became {changed.right}"
        message = f"does not say `mutates: true`, but its expected calls change the state{seen}"
        finding = Finding(code="undeclared_template_mutation", message=message, fix="set `mutates: true`")
        yield _at(pack, index, ("mutates",), finding)
    broken = fragile(shown.tried)
    for position, name in enumerate(template.success_assertions):
        if name in broken:
            yield _at(pack, index, ("success_assertions", position), broken[name])


def _at(pack: Pack, index: int, field: Pointer, finding: Finding) -> Finding:
    about = dataclasses.replace(finding, template_id=pack.templates[index].template_id)
    return placed(pack, "templates", (index, *field), about)
