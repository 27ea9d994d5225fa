"""What does a run say when it ends well? Rule: evaluation.md §1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import Json, canonical_text
from bfcl.digest import Digest
from bfcl.errors import Problem
from bfcl.evaluate.records import Scope
from bfcl.evaluate.run.estimate import Estimate
from bfcl.evaluate.run.stopped import Stopped
from bfcl.evaluate.settings.envelope import OutputFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """A dry run: nobody was asked, nothing was written."""

    scope: Scope
    eval_config_hash: Digest
    task_counts: Mapping[str, int]
    """By alias."""
    oracle_probed: bool
    estimate: Estimate
    warnings: tuple[Problem, ...]

    def payload(self) -> dict[str, Json]:
        """Keys in the order in which people read them."""
        return {
            "status": "preflight_passed",
            "scope": self.scope,
            "eval_config_hash": self.eval_config_hash,
            "candidates": list(self.task_counts),
            "task_counts": dict(self.task_counts),
            "candidate_network_used": False,
            "oracle_probed": self.oracle_probed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSources:
    """Where a run has its calls from: no part of any file, since a run over the same answers writes the same bytes."""

    asked: int
    """Of a provider, now; those that nothing answered among them."""
    taken_over: int
    """From the record of the run that was gone on from."""
    replayed: int
    """From the record in the output directory itself, of a run that was finished before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A run that reached its end. Paths are None for files that the configuration leaves out."""

    eval_run_id: str
    scope: Scope
    candidates: tuple[str, ...]
    report_path: Path
    task_results_path: Path | None
    manifest_path: Path | None
    calls: CallSources
    stopped: tuple[Stopped, ...] = ()
    """By alias, those candidates some of whose tasks ended for reasons that are not theirs."""

    def payload(self) -> dict[str, Json]:
        """Keys in the order in which people read them."""
        return {
            "status": "completed",
            "eval_run_id": self.eval_run_id,
            "scope": self.scope,
            "candidates": list(self.candidates),
            "report_path": str(self.report_path),
            "task_results_path": _text(self.task_results_path),
            "manifest_path": _text(self.manifest_path),
        }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def payload_lines(payload: Mapping[str, Json], form: OutputFormat) -> list[str]:
    """A payload for people, a line for each key with its value in JSON, or for programs, one object in one line."""
    if form == "json":
        return [canonical_text(payload)]
    return [f"{key}: {canonical_text(value)}" for key, value in payload.items()]


def estimate_line(told: Estimate) -> str:
    """What a dry run says of the cost, beside its payload; of a run that goes on from another, what is left of it."""
    left = "" if told.remaining is None else f"\nstill to be asked, the rest is on record: {_cost(told.remaining)}"
    return f"estimate: {_cost(told)}{left}"


def _cost(told: Estimate) -> str:
    return (
        f"{told.turns} turns, about {told.prompt_tokens} prompt tokens, never more than {told.request_ceiling} requests"
    )


def calls_line(told: CallSources) -> str:
    """Who was asked and what was read instead, beside the payload: the result is the same, the bill is not."""
    if told.replayed:
        return (
            f"calls: none asked, {told.replayed} replayed from the record in this directory, "
            "which a run had finished before"
        )
    asked = str(told.asked) if told.asked else "none"
    return f"calls: {asked} asked" + (f", {told.taken_over} taken over from an earlier run" if told.taken_over else "")
