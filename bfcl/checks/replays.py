"""Do the representatives replay alike in two worlds, and do their assertions pass for them and for nobody idle?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from bfcl.checks.findings import PHASES, at_own_line, of_every_episode, placed
from bfcl.checks.kept import none_stopped
from bfcl.checks.probes import change
from bfcl.checks.representatives import Representative, Setup
from bfcl.checks.vacuous import Tried, fragile, trials, untouched_state, vacuous
from bfcl.located import Pointer
from bfcl.oracle.protocol import Breakdown, Episode, Oracle, Replayed
from bfcl.pack.model import Pack
from bfcl.records.template import Template
from bfcl.records.verdict import AssertionOutcome, Finding, ToolResult
from bfcl.stages.divergence import shortened
from bfcl.stages.executable_replay import (
    ASSERTION_BROKEN,
    ASSERTION_FAILED,
    FAILED,
    Fault,
    agreed_results,
    episode,
    replay_fault,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one representative's episodes showed: its two replays, the stage's judgement of them, the undone trials."""

    representative: Representative
    template: Template
    replayed: Replayed
    fault: Fault | None
    tool_results: tuple[ToolResult, ...]
    """What its calls answered, as far as both worlds agree."""
    tried: tuple[Tried, ...]
    change: str | None
    """What its expected calls change, in words, where the template does not say that it mutates."""

    @property
    def ran_through(self) -> bool:
        """Whether no run was stopped at a deadline or died: only then does what was seen come again."""
        runs = (run for world in self.replayed for run in (world, *world.also))
        return none_stopped(run.breakdown for run in runs)


def play(setup: Setup, oracle: Oracle, representatives: Sequence[Representative]) -> list[Shown]:
    """Replay every representative twice and try the candidates that leave its work undone, all in one request.

    The trials are further runs of the same episodes: a process of their own would cost more than they do.
    Raises: OracleError if no episode can run at all.
    """
    pack = setup.pack
    expected = [episode(each.task, each.trace, setup.wording.language) for each in representatives]
    undone = [trials(one, setup.catalog, pack.manifest.confirmation) for one in expected]
    episodes = [
        dataclasses.replace(one, also=tuple(trial.calls for trial in several))
        for one, several in zip(expected, undone, strict=True)
    ]
    replayed = oracle.replay(episodes) if episodes else []
    suspects = oracle.suspects() if not all(pair.alike for pair in replayed) else ()
    tried = [
        tuple(zip(several, pair.further.also, strict=False)) for several, pair in zip(undone, replayed, strict=True)
    ]
    undeclared = [
        number
        for number, each in enumerate(representatives)
        if not pack.templates[each.index].mutates and _seems_changed(tried[number], replayed[number])
    ]
    changes = _changes(oracle, {number: expected[number] for number in undeclared})
    return [
        Shown(
            representative=each,
            template=pack.templates[each.index],
            replayed=pair,
            fault=replay_fault(each.task, each.trace, pair, suspects),
            tool_results=agreed_results(each.trace, pair),
            tried=tried[number],
            change=changes.get(number),
        )
        for number, (each, pair) in enumerate(zip(representatives, replayed, strict=True))
    ]


def _seems_changed(tried: Sequence[Tried], pair: Replayed) -> bool:
    """Whether the expected calls end on another state than a candidate that does nothing."""
    before, after = untouched_state(tried), pair.further.states[-1:]
    return before is not None and bool(after) and after[0] != before


def _changes(oracle: Oracle, episodes: Mapping[int, Episode]) -> dict[int, str]:
    """What the calls of episodes change, in words; an episode that changes nothing is left out.

    Each is held against the state after its own reset: another run of the same process may begin elsewhere, and that is
    for check D1 to tell.
    """
    watched = [dataclasses.replace(one, observe="each", assertions=(), also=()) for one in episodes.values()]
    results = oracle.run(watched) if watched else []
    found: dict[int, str] = {}
    for number, result in zip(episodes, results, strict=True):
        words = change(result.states[0], result.states[-1]) if len(result.states) > 1 else None
        if words is not None:
            found[number] = words
    return found


def failures(pack: Pack, shown: Shown) -> Iterator[Finding]:
    """Why a representative does not replay, with the stage's own reason as detail, and whether its assertions bite."""
    index, fault, pair = shown.representative.index, shown.fault, shown.replayed
    if fault is not None and fault.reason == ASSERTION_FAILED:
        for position, outcome in enumerate(pair.a.assertions):
            if not outcome.passed:
                yield _at(pack, index, ("success_assertions", position), _failed(outcome))
    elif fault is not None:
        yield _broken(pack, index, fault, pair)
    template = shown.template
    claims = template.mutates and template.turn_policy != "negative_path"
    found = vacuous(shown.tried, pair.further, claims_mutation=claims)
    if found is not None:
        yield _at(pack, index, ("success_assertions",), found)
    for trial, result in shown.tried:
        if result.breakdown is not None:
            yield _stopped(pack, index, trial.what, result.breakdown)


def _stopped(pack: Pack, index: int, what: str, breakdown: Breakdown) -> Finding:
    """An episode of undone work that broke: every candidate that leaves it undone would break it too."""
    message = f"the episode of a candidate that {what} broke: {breakdown.message}"
    finding = _at(pack, index, (), Finding(code=breakdown.code, message=message, detail=what))
    return at_own_line(finding, breakdown)


def _failed(outcome: AssertionOutcome) -> Finding:
    does_not_apply = outcome.status == "not_applicable"
    said = outcome.detail or ("it does not apply" if does_not_apply else "it failed without a message")
    return Finding(
        code="assertion_not_applicable" if does_not_apply else ASSERTION_FAILED,
        message=f"`{outcome.name}` does not pass on the expected calls: {said}",
        detail=ASSERTION_FAILED,
    )


def _broken(pack: Pack, index: int, fault: Fault, pair: Replayed) -> Finding:
    """Worlds that differ, an episode that broke, or an assertion that did."""
    code = fault.code or fault.reason
    if pair.a.breakdown is not None and pair.a.breakdown == pair.b.breakdown and pair.a.breakdown.phase in PHASES:
        template_id = pack.templates[index].template_id
        found = of_every_episode(pack, pair.a.breakdown)
        return dataclasses.replace(found, template_id=template_id, detail=fault.reason)
    field = ("success_assertions",) if code == ASSERTION_BROKEN else ()
    finding = _at(pack, index, field, Finding(code=code, message=fault.message, detail=fault.reason))
    breakdown = (pair.a.breakdown or pair.b.breakdown) if fault.reason == FAILED else None
    return finding if breakdown is None else at_own_line(finding, breakdown)


def warnings(pack: Pack, shown: Shown) -> Iterator[Finding]:
    """Expected calls that are refused, changes nobody declared, assertions that break on unfinished work."""
    index, template = shown.representative.index, shown.template
    for result in shown.tool_results:
        if isinstance(result.result.get("error"), dict) and template.turn_policy != "negative_path":
            message = f"expected call `{result.tool}` is refused: {shortened(result.result)}"
            fix = "bind values the tool accepts, or set `turn_policy: negative_path`"
            yield _at(pack, index, (), Finding(code="gold_call_refused", message=message, tool=result.tool, fix=fix))
    if shown.change is not None:
        message = f"does not say `mutates: true`, but its expected calls change the state: {shown.change}"
        finding = Finding(code="undeclared_template_mutation", message=message, fix="set `mutates: true`")
        yield _at(pack, index, ("mutates",), finding)
    broken = fragile(shown.tried)
    for position, name in enumerate(template.success_assertions):
        if name in broken:
            yield _at(pack, index, ("success_assertions", position), broken[name])


def _at(pack: Pack, index: int, field: Pointer, finding: Finding) -> Finding:
    about = dataclasses.replace(finding, template_id=pack.templates[index].template_id)
    return placed(pack, "templates", (index, *field), about)
