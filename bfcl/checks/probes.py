"""What did the declared probes show? Played once, read by every check that judges them. Rule: pack.md §10, §11."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from bfcl.canonical import Json
from bfcl.checks.findings import PHASES, Subject, first_names, from_breakdown, of_every_episode, placed
from bfcl.checks.kept import none_stopped
from bfcl.located import Pointer
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall, Replayed
from bfcl.pack.model import Case, Confirmation, Pack
from bfcl.records.verdict import Finding
from bfcl.stages.divergence import first_difference

ResultClass: TypeAlias = Literal["success", "structured_error", "awaiting_confirmation"]

SEED = 0
"""Probes have no task, so they have no seed of their own."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one probe showed: the answer, its class, and the state (canonical text) around the call."""

    index: int
    """Position in the declared cases."""
    case: Case
    result: Mapping[str, Json]
    result_class: ResultClass
    before: str
    after: str

    @property
    def is_negative(self) -> bool:
        """Whether it counts as its tool's refusal. Rule: pack.md §10, coverage."""
        return self.case.coverage == "negative" or self.result_class != "success"

    @property
    def change(self) -> str | None:
        """The first thing the call changed in the state, in words; None where it changed nothing."""
        return change(self.before, self.after)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A probe that broke, and the probes of its chain that never ran (positions in the declared cases)."""

    index: int
    breakdown: Breakdown
    aborted: tuple[int, ...]


class Observed(NamedTuple):
    """Every probe's outcome, in declared order."""

    answers: list[Observation]
    broken: list[Broken]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """The chains of probes, each played in both worlds and once more in the same process, and what world A showed."""

    chains: tuple[tuple[int, ...], ...]
    replayed: tuple[Replayed, ...]
    seen: Observed

    def successes(self, tool: str) -> list[Observation]:
        """The tool's probes that count as its success."""
        return [one for one in self.seen.answers if one.case.tool == tool and not one.is_negative]

    def success_fix(self, pack: Pack, tool: str) -> str:
        """How a tool without a success gets one: by mending what broke its probe, where there is one."""
        broken = (index for one in self.seen.broken for index in (one.index, *one.aborted))
        if any(pack.cases[index].tool == tool and not declares_refusal(pack.cases[index]) for index in broken):
            return "mend what broke its probe, which check 5 tells"
        return f"add a case that `{tool}` answers with a success"


def probes(subject: Subject) -> Probes:
    """The probes as played for this subject. Raises OracleError if no episode can run at all."""
    return subject.once(_played)


def _played(subject: Subject) -> Probes:
    pack = subject.pack
    chains = tuple(chained(pack.cases))
    episodes = [episode(pack.cases, chain) for chain in chains]
    # The repetition is free: a process of its own would cost more than its calls.
    episodes = [dataclasses.replace(one, also=(one.calls,)) for one in episodes]
    replayed = subject.oracle.replay(episodes) if episodes else []
    seen = observe(pack, chains, [pair.a for pair in replayed])
    return Probes(chains=chains, replayed=tuple(replayed), seen=seen)


def all_ended(subject: Subject) -> bool:
    """Whether no probe was stopped at a deadline or died: only then does what was seen of them come again."""
    runs = (run for pair in probes(subject).replayed for world in pair for run in (world, *world.also))
    return none_stopped(run.breakdown for run in runs)


def chained(cases: Sequence[Case]) -> list[tuple[int, ...]]:
    """Positions of the cases that share an episode: each `reset_before: false` goes on where the case before ended."""
    chains: list[list[int]] = []
    for index, case in enumerate(cases):
        if case.reset_before or not chains:
            chains.append([index])
        else:
            chains[-1].append(index)
    return [tuple(chain) for chain in chains]


def episode(cases: Sequence[Case], chain: Sequence[int]) -> Episode:
    """One chain of probes as an episode, state read around every call.

    Each call is named after its own case, `reset` after the first. Rule: pack.md §6, `ctx.task_id` of probes.
    """
    chained_cases = [cases[index] for index in chain]
    return Episode(
        task_id=_probe_id(chained_cases[0]),
        seed=SEED,
        calls=tuple(
            PlannedCall(tool=case.tool, arguments=case.arguments, task_id=_probe_id(case)) for case in chained_cases
        ),
        observe="each",
    )


def _probe_id(case: Case) -> str:
    return f"probe__{case.id}"


def observe(pack: Pack, chains: Sequence[tuple[int, ...]], results: Sequence[EpisodeResult]) -> Observed:
    """What the probes showed, taken apart from their episodes; `chains` and `results` in the same order."""
    answers: list[Observation] = []
    broken: list[Broken] = []
    for chain, result in zip(chains, results, strict=True):
        whole = min(len(result.results), max(len(result.states) - 1, 0))
        if result.breakdown is not None:
            # An episode that broke after its last answer broke in that probe all the same.
            whole = min(whole, len(chain) - 1)
        for position in range(whole):
            answer = json.loads(result.results[position])
            answers.append(
                Observation(
                    index=chain[position],
                    case=pack.cases[chain[position]],
                    result=answer,
                    result_class=classify(answer, pack.manifest.confirmation),
                    before=result.states[position],
                    after=result.states[position + 1],
                )
            )
        if result.breakdown is not None:
            broken.append(Broken(index=chain[whole], breakdown=result.breakdown, aborted=chain[whole + 1 :]))
    return Observed(answers, broken)


def classify(result: Mapping[str, Json], confirmation: Confirmation) -> ResultClass:
    """The class of an answer, first match wins. Rule: pack.md §10, classification."""
    if isinstance(result.get("error"), dict):
        return "structured_error"
    if result.get(confirmation.status_field) == confirmation.pending_status:
        return "awaiting_confirmation"
    return "success"


def declares_refusal(case: Case) -> bool:
    """Whether the author means the probe to be its tool's refusal, whatever it turns out to be."""
    expected = case.expect.get("result_class")
    if expected is None and case.expect.get("error_code") is not None:
        expected = "structured_error"
    return case.coverage == "negative" or expected in ("structured_error", "awaiting_confirmation")


def change(before: str, after: str) -> str | None:
    """The first difference of two states (canonical text), in words; None where they are equal."""
    if before == after:
        return None
    difference = first_difference(json.loads(before), json.loads(after))
    if difference is None:
        raise AssertionError("two canonical texts differ but their values do not")
    return f"`{difference.path}` was {difference.left} and became {difference.right}"


def at_case(pack: Pack, index: int, field: str, finding: Finding) -> Finding:
    """The finding about case number `index`, placed at one of its fields (`expect.<key>` for what it expects)."""
    case = pack.cases[index]
    pointer: Pointer = (index, *field.split(".", 1)) if field else (index,)
    return placed(pack, "validation_cases", pointer, dataclasses.replace(finding, case_id=case.id, tool=case.tool))


def breakages(pack: Pack, broken: Sequence[Broken]) -> Iterator[tuple[int, Finding]]:
    """(position of the case, finding) of everything that broke, and of the rest of each chain.

    What breaks every episode alike is told once, at its line of code and with the probes that met it; those behind
    them in their chains did not run for the same reason, and are among them.
    """
    alike: dict[object, list[Broken]] = {}
    for one in broken:
        key: object = one.breakdown if one.breakdown.phase in PHASES else one.index
        alike.setdefault(key, []).append(one)
    for group in alike.values():
        first = group[0]
        met = sorted(index for one in group for index in (one.index, *one.aborted))
        if len(group) > 1:
            found = of_every_episode(pack, first.breakdown)
            names = first_names([pack.cases[index].id for index in met])
            yield first.index, dataclasses.replace(found, message=f"{found.message}, in {len(met)} probes: {names}")
            continue
        yield first.index, breakage(pack, first.index, first.breakdown)
        for index in first.aborted:
            message = f"did not run: `{pack.cases[first.index].id}`, whose episode it continues, broke"
            yield index, at_case(pack, index, "reset_before", Finding(code="chain_aborted", message=message))


def breakage(pack: Pack, index: int, breakdown: Breakdown, asked: str | None = None) -> Finding:
    """An episode that broke in case number `index`; `asked` says how its tool was called, where not as declared."""
    found = from_breakdown(breakdown)
    what = PHASES.get(breakdown.phase, asked or f"`{pack.cases[index].tool}`")
    message = f"{what} broke instead of answering: {found.message}"
    if breakdown.where is not None:
        message += f" ({breakdown.where})"
    return at_case(pack, index, "", Finding(code=found.code, message=message))
