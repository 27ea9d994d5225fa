"""What does a checked scoring configuration say? Rule: evaluation.md §2.

Files are named by where they lie; what is hashed of them is their content (see `hashes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bfcl.canonical import Json
from bfcl.digest import Digest

Mode = Literal["trace", "executable", "held_out_eval"]
Assurance = Literal["weights_pinned", "provider_managed"]


def needs_oracle(modes: Iterable[Mode]) -> bool:
    """Whether any of the modes runs tasks against the oracle: every mode but the comparison of traces does."""
    return any(mode != "trace" for mode in modes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose weights a candidate has."""

    source: str
    model: str
    revision: str | None
    weights_digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """How a candidate is asked. `top_p` and `seed` are not sent where null."""

    temperature: float
    top_p: float | None
    max_tokens: int
    seed: int | None
    tool_choice: Literal["auto", "required", "none"]
    provider_extensions: Mapping[str, Mapping[str, Json]]
    max_tokens_field: str
    """Name under which the limit is sent (§17.7): `max_tokens` unless the configuration says otherwise."""
    echo_reasoning: str | None
    """Field of the candidate's own message that is sent back with it (§17.7), or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One model under test."""

    alias: str
    model: str
    provider: str
    provider_api_version: str
    base_url: str
    api_key_env: str
    identity: Identity
    canonical_id: str
    assurance: Assurance
    inference: Inference
    inference_parameters_hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """The scoring policy. `policy_hash` covers every field here and the bytes of the scoring contract document."""

    contract: Path
    contract_hash: Digest
    argument_matching: Literal["schema_then_canonical", "canonical_only"]
    insert_declared_defaults: bool
    respect_call_order: bool
    respect_call_group: bool
    allow_llm_repair: bool
    task_success: Literal["all_applicable_gates", "assertions_only"]
    intermediate_text_matching: Literal["structural", "verbatim"]
    executable_continuation: Literal["gold", "live"]
    """`live` is for debugging and bars publication (§17.1)."""
    policy_hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_turns: int
    max_parallel_tasks: int
    max_retries: int
    tool_timeout_s: float
    candidate_timeout_s: float
    episode_timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Schema 1.3 (§16.1). One trial and `fixed` where the section is absent."""

    trials: int
    seed_policy: Literal["fixed", "increment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contamination:
    enforce: bool
    on_violation: Literal["fail_run", "exclude_row"]
    comparison_set: Literal["common_intersection", "per_candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    output_dir: Path
    """Absolute; `{eval_config_hash}` filled in."""
    write_task_results: bool
    write_eval_manifest: bool
    cache_candidate_responses: bool
    cache_tool_results: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOracle:
    kind: Literal["python", "endpoint"]
    pack_manifest: Path
    resource: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutEval:
    contract_version: str
    policy_hash: Digest
    fixture_refs: tuple[str, ...]
    template_ids: tuple[str, ...]
    seed: int
    pack_version: str
    max_tasks_per_template: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedSource:
    """What the run manifest that the configuration names said when it was loaded (gate 4 compares later)."""

    manifest: Path
    manifest_hash: Digest
    run_id: str
    benchmark: Path
    benchmark_hash: Digest
    """As the manifest claims it."""
    benchmark_schema_version: str
    lineage_policy: str
    gold_eligible: bool
    oracle_hash: Digest | None
    """Content hash of the oracle's resource file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalSettings:
    """A whole scoring configuration, checked."""

    path: Path
    schema_version: str
    source: ClaimedSource
    oracle: SourceOracle | None
    modes: tuple[Mode, ...]
    """In the order trace, executable, held_out_eval."""
    scoring: Scoring
    limits: Limits
    repeats: Repeats
    candidates: tuple[Candidate, ...]
    """By alias."""
    contamination: Contamination
    publication_requested: bool
    outputs: Outputs
    held_out: HeldOutEval | None
    publication_allowed: bool
    """As far as the configuration goes; the plan may still forbid it."""
    publication_scope: Literal["trace_only", "trace_and_executable"]
    non_publication_reasons: tuple[str, ...]
    hash_payload: Mapping[str, Json]
    eval_config_hash: Digest
    measurement_hash: Digest
    """The same without `api_key_env`, `base_url` and `max_parallel_tasks` (§17.4)."""

    @property
    def executable(self) -> bool:
        """Whether tasks are driven against the live oracle: then every trace gate is scored in the same run."""
        return "executable" in self.modes

    @property
    def needs_oracle(self) -> bool:
        """Whether any task is run against the oracle, public or private."""
        return needs_oracle(self.modes)

    @property
    def public(self) -> bool:
        """Whether public tasks are asked for. Private ones alone come to no manifest and no record."""
        return any(mode != "held_out_eval" for mode in self.modes)
