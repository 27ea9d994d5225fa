"""The run configuration once checked: frozen, typed, every default filled in. Defaults exist only here.

Field names are the configuration keys of generation.md §2.2. Paths are absolute with symlinks resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bfcl.canonical import Json
from bfcl.records.ids import RunStage


@dataclass(frozen=True, slots=True, kw_only=True)
class OraclePackPaths:
    """`oracle_pack`: where the pack and its overridden files are."""

    manifest_path: Path
    backend_path: Path | None = None
    endpoint_config_path: Path | None = None
    fixtures_path: Path | None = None
    task_templates_path: Path | None = None
    assertions_path: Path | None = None
    validation_cases_path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRuntime:
    """`oracle_runtime`: the oracle's clock, deadlines in seconds, worker kind, directories a pack may use."""

    clock: str
    tool_timeout_s: float = 5.0
    assertion_timeout_s: float = 5.0
    import_timeout_s: float = 10.0
    reset_timeout_s: float = 5.0
    episode_timeout_s: float = 60.0
    worker: Literal["process", "thread"] = "process"
    allowed_roots: tuple[Path, ...] = ()
    """Never empty once loaded: the project's `packs/` stands in for an absent list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRole:
    """One of `lineage.roles`."""

    enabled: bool = False
    model_config: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """`lineage`: which models may touch what, and whether the result may be published as Gold."""

    policy: Literal["strict_separation", "smoke_no_publication"]
    profile_influenced_surface: bool = False
    judge_advisory: bool | None = None
    roles: Mapping[str, ModelRole] = field(default_factory=dict)
    """Exactly `profile`, `paraphrase`, `surface_judge`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceBenchmark:
    """`reference_benchmark`."""

    name: str
    samples_path: Path
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceGeneration:
    """`surface_generation`. `language` None means the pack decides (pack.md §2)."""

    language: str | None = None
    model_paraphrase_enabled: bool = False
    paraphrases_per_template: int = 0
    preserve_slot_values: bool = True
    prevent_tool_name_leakage: bool = True
    surface_style_axes: tuple[str, ...] = ()
    """Never empty once loaded: the 20 built-in axes stand in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceQuality:
    """`surface_quality_validation`."""

    contract_version: str = "1.1"
    enabled: bool = False
    drop_authority: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGeneration:
    """`task_generation`: how many tasks to bind, and the mixes balancing aims at (dedup only)."""

    tasks_per_category: int = 1
    candidate_tasks_per_category: int = 1
    """Defaults to `tasks_per_category`."""
    target_published_tasks: int | None = None
    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_intent_share: float | None = None
    difficulty_mix: Mapping[str, float] | None = None
    turn_mix: Mapping[str, float] | None = None
    tool_call_count_mix: Mapping[str, float] | None = None
    policy_mix: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticDeduplication:
    """`semantic_deduplication_config`."""

    contract_version: str = "1.0"
    enabled: bool = False
    model_identifier: str | None = None
    n_clusters: int | None = None
    eps: float | None = None
    remove_duplicates: bool | None = None
    max_exact_surface_reuse: int | None = None
    max_rows_per_intent: int | None = None
    max_execution_case_reuse: int | None = None
    min_exact_surface_ratio: float | None = None
    representative_source_preference: tuple[str, ...] = ("template", "model")
    unmet_target_policy: Literal["abort", "publish_non_gold"] = "abort"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """`exports`: formats of other tools, written beside the tables."""

    bfcl_json: bool = False
    nemo_evaluator_bundle: bool = False
    openai_chat_jsonl: bool = False
    inspect_ai: bool = False
    hugging_face: bool = False

    @property
    def asked_for(self) -> tuple[str, ...]:
        """Names of the formats to write, sorted."""
        return tuple(sorted(name for name in self.__slots__ if getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A whole configuration. `stage` is the file's; the command's effective stage is passed beside it."""

    family: str
    expt_name: str
    output_dir: Path
    oracle_pack: OraclePackPaths
    oracle_runtime: OracleRuntime
    lineage: Lineage
    stage: RunStage = "all"
    random_seed: int | None = None
    ndd_batch_size: int = 32
    schema_version: str | None = None
    config_status: Literal["template", "resolved"] | None = None
    reference_benchmark: ReferenceBenchmark | None = None
    surface_generation: SurfaceGeneration = field(default_factory=SurfaceGeneration)
    surface_quality_validation: SurfaceQuality = field(default_factory=SurfaceQuality)
    task_generation: TaskGeneration = field(default_factory=TaskGeneration)
    semantic_deduplication_config: SemanticDeduplication = field(default_factory=SemanticDeduplication)
    exports: Exports = field(default_factory=Exports)

    @property
    def seed(self) -> int:
        """`random_seed or 0`: the seed every derivation uses."""
        return self.random_seed or 0

    @property
    def pack_root(self) -> Path:
        """The manifest's directory."""
        return self.oracle_pack.manifest_path.parent

    @property
    def run_dir(self) -> Path:
        """`output_dir/expt_name`: the run tree."""
        return self.output_dir / self.expt_name
