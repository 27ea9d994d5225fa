"""How does a run become one HTML page that needs nothing but a browser?

The same run and the same timings give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.release.document.panels import Panel, Table, panel, shown
from bfcl.release.document.render import render
from bfcl.release.read import Release
from bfcl.release.report.conversations import LIMIT, Packed, pack
from bfcl.release.report.facts import Facts, Timing, gather
from bfcl.release.report.fates import seen_tasks
from bfcl.release.report.figures import STATUSES, assertion_rows, assertions, funnel, mixes, replay_time, same_time
from bfcl.release.report.targets import Targets, targets, untold
from bfcl.stages.artifacts import MANIFEST_FILE

_HERE: Final = Path(__file__).resolve().parent
_BALANCING: Final = "semantic_deduplication"
_BY_TEMPLATE: Final = "by_template"
_BLOCKS: Final[Sequence[tuple[str, str, str]]] = (
    ("held_out", "Held-out material", "evaluated"),
    ("surface_quality_validation", "Surface quality", "enabled"),
    (_BALANCING, "Deduplication and balancing", "enabled"),
    ("exports", "Exports", "evaluated"),
)
"""Blocks of the manifest that are shown as they are: key, title, the member that says whether there is anything."""

_ORIGIN: Final = (
    "run_id",
    "created_at",
    "generation_mode",
    "pipeline_version",
    "generation_config_hash",
    "resolved_config_hash",
    "prompt_bundle_hash",
    "tier",
    "gold_eligible",
    "gold_ineligibility_reasons",
    "lineage_policy",
    "oracle_clock",
    "oracle",
    "seeds",
    "runtime",
    "reference_benchmark",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The finished document, and what it holds of the run."""

    html: bytes
    conversations: int
    tasks: int


def report_page(release: Release, timing: Timing | None = None, limit: int = LIMIT) -> Page:
    """The page of a release that has been verified. `timing` is what is known of its replays, None where nothing is.

    Raises: ReleaseError `release_rows_mismatch`, DriftError, where tables are damaged or do not fit each other.
    """
    tasks = list(seen_tasks(release))
    facts = gather(tasks, release.artifacts)
    packed = pack(release, tasks, limit)
    return Page(html=_render(release, facts, packed, timing), conversations=packed.rows, tasks=packed.tasks)


def _render(release: Release, facts: Facts, packed: Packed, timing: Timing | None) -> bytes:
    manifest = release.manifest
    goals = targets(_member(manifest[_BALANCING], "report"))
    told: dict[str, object] = {
        "manifest_file": MANIFEST_FILE,
        "facts": facts,
        "manifest": manifest,
        "name": _name(manifest["run_id"]),
        "pack_name": " ".join(shown(_member(manifest["pack"], key)) for key in ("pack_id", "version")),
        "funnel": funnel(facts),
        "mixes": mixes(facts),
        "losers": [template for template in facts.templates.values() if template.losses],
        "assertions": assertions(facts),
        "assertion_rows": assertion_rows(facts),
        "statuses": STATUSES,
        "timing": timing,
        "replay": None if timing is None or not timing.seconds else replay_time(facts, timing),
        "same_time": None if timing is None else same_time(timing),
        "targets": goals,
        "blocks": _blocks(manifest, goals),
        "origin": panel(_origin(manifest)),
        "pack": panel(_without(manifest["pack"], "files")),
        "files": panel(_member(manifest["pack"], "files")),
        "build": panel(_without(manifest["build"], "stages")),
        "counts": panel(manifest["stage_counts"]),
        "tables": [("published", release.published), ("raw", release.raw)],
        "artifacts": sorted(release.artifacts.items()),
        "packed": packed,
    }
    return render(_HERE, told, packed.data)


def _name(run_id: Json) -> str:
    """The experiment's: what stands before stamp, prompt and random part. Rule: generation.md §6.3."""
    return str(run_id).rsplit("-", 3)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the manifest under its title. `there` is false where the run has nothing of it."""

    title: str
    there: bool
    counts: tuple[Table, ...]
    """What comes before the lines."""
    panel: Panel
    by_template: bool
    """Whether counts by template are left out."""


def _blocks(manifest: Mapping[str, Json], goals: Targets) -> list[Block]:
    return [
        Block(
            title=title,
            there=_member(manifest[key], switch) is True,
            counts=goals.counts if key == _BALANCING else (),
            panel=panel(_rest(manifest[key], key == _BALANCING)),
            by_template=_member(_member(manifest[key], "report"), _BY_TEMPLATE) is not None,
        )
        for key, title, switch in _BLOCKS
        if key in manifest
    ]


def _rest(block: Json, balancing: bool) -> Json:
    """A block without the parts of its report that stand elsewhere on the page."""
    report = _member(block, "report")
    if not isinstance(block, Mapping) or not isinstance(report, Mapping):
        return block
    return {**block, "report": _without(untold(report) if balancing else report, _BY_TEMPLATE)}


def _origin(manifest: Mapping[str, Json]) -> Json:
    """What the run is made of and by; of the model roles those alone that were played."""
    models = manifest["models"]
    roles = models.items() if isinstance(models, Mapping) else ()
    played = {role: model for role, model in roles if _member(model, "enabled") is True}
    return {**{key: manifest[key] for key in _ORIGIN if key in manifest}, "models": played or None}


def _member(block: Json, key: str) -> Json:
    return block.get(key) if isinstance(block, Mapping) else None


def _without(block: Json, key: str) -> Json:
    return {name: value for name, value in block.items() if name != key} if isinstance(block, Mapping) else block
