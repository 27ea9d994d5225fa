"""May the scores of a configuration be published, and if not, why? Rules: evaluation.md §13, §17.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from bfcl.config.view import Pointer
from bfcl.evaluate.settings.model import Candidate, Contamination, Mode, Outputs, Scoring, needs_oracle
from bfcl.evaluate.settings.reading import Section

POLICY: Final = "eval_publication_policy_violation"
Scope = Literal["trace_only", "trace_and_executable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What the configuration says of publishing; the plan may still forbid what is allowed here."""

    requested: bool
    allowed: bool
    scope: Scope
    reasons: tuple[str, ...]
    """Sorted."""


class Weakness(NamedTuple):
    """A gate that is weaker than publishing needs: how reports name it, where it stands, what is needed, what to do."""

    reason: str
    pointer: Pointer
    needed: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """What publishing looks at. `candidates` are in the order of the file."""

    modes: tuple[Mode, ...]
    gold_eligible: bool
    scoring: Scoring
    candidates: Sequence[Candidate]
    contamination: Contamination
    outputs: Outputs


_SCORING: Final[tuple[tuple[str, object, Callable[[Scoring], object]], ...]] = (
    ("argument_matching", "schema_then_canonical", lambda scoring: scoring.argument_matching),
    ("respect_call_order", True, lambda scoring: scoring.respect_call_order),
    ("respect_call_group", True, lambda scoring: scoring.respect_call_group),
    ("allow_llm_repair", False, lambda scoring: scoring.allow_llm_repair),
    ("task_success", "all_applicable_gates", lambda scoring: scoring.task_success),
    ("intermediate_text_matching", "structural", lambda scoring: scoring.intermediate_text_matching),
    ("executable_continuation", "gold", lambda scoring: scoring.executable_continuation),
)
_CONTAMINATION: Final[tuple[tuple[str, object, Callable[[Contamination], object]], ...]] = (
    ("enforce", True, lambda block: block.enforce),
    ("on_violation", "fail_run", lambda block: block.on_violation),
    ("comparison_set", "common_intersection", lambda block: block.comparison_set),
)
_OUTPUTS: Final[tuple[tuple[str, Callable[[Outputs], bool]], ...]] = (
    ("write_task_results", lambda outputs: outputs.write_task_results),
    ("write_eval_manifest", lambda outputs: outputs.write_eval_manifest),
    ("cache_candidate_responses", lambda outputs: outputs.cache_candidate_responses),
    ("cache_tool_results", lambda outputs: outputs.cache_tool_results),
)


def weaknesses(gates: Gates) -> list[Weakness]:
    """Every one, in the order in which §13 lists the gates."""
    found = [
        _weak(f"scoring.{name}", ("scoring", name), needed)
        for name, needed, of in _SCORING
        if of(gates.scoring) != needed
    ]
    found += [
        _weak(f"contamination.{name}", ("contamination", name), needed)
        for name, needed, of in _CONTAMINATION
        if of(gates.contamination) != needed
    ]
    found += [
        _weak(f"outputs.{name}", ("outputs", name), needed=True) for name, of in _OUTPUTS if not of(gates.outputs)
    ]
    for index, candidate in enumerate(gates.candidates):
        if candidate.assurance != "weights_pinned":
            pointer = ("candidates", index, "model_identity")
            needed = "`revision` or `weights_digest`"
            reason = f"candidates[{candidate.alias}].model_identity"
            found.append(Weakness(reason, pointer, needed, f"add {needed}"))
    if not gates.gold_eligible and needs_oracle(gates.modes):
        needed, fix = "a benchmark that is Gold-eligible", "name another run, or evaluate `[trace]` only"
        found.append(Weakness("source.gold_eligible", ("source_run_manifest",), needed, fix))
    return found


def read_publication(root: Section, gates: Gates) -> Publication:
    """Whether publishing is asked for and allowed; every weakness is refused where it is asked for.

    Fields that are at fault already are not judged here.
    """
    block = root.section("publication", ("requested", "require_same_task_ids"))
    requested = block.flag("requested")
    if not block.flag("require_same_task_ids", default=True):
        expected = "true: scores over different tasks are no comparison"
        block.wrong("require_same_task_ids", expected, "set it to true", code=POLICY)
    weak = [one for one in weaknesses(gates) if root.reading.is_sound(one.pointer)]
    if requested:
        for one in weak:
            message = f"bars publishing, which `publication.requested` asks for; expected {one.needed}"
            fix = f"{one.fix}, or set `publication.requested` to false"
            root.reading.refuse(one.pointer, message, fix, code=POLICY)
    reasons = sorted([one.reason for one in weak] + ([] if requested else ["publication.requested"]))
    return Publication(
        requested=requested,
        allowed=not reasons,
        scope="trace_and_executable" if "executable" in gates.modes else "trace_only",
        reasons=tuple(reasons),
    )


def _weak(reason: str, pointer: Pointer, needed: object) -> Weakness:
    word = f"`{str(needed).lower() if isinstance(needed, bool) else needed}`"
    return Weakness(reason, pointer, word, f"write {word}")
