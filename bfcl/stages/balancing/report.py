"""What does `dedup_balancing_report.json` say? Rule: generation.md §3.8.10."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.digest import sha256_json
from bfcl.records.balance import BalancedTask
from bfcl.stages import stage_named
from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.dimensions import DIMENSIONS, GROUPS, all_counts, counts, intent_bucket
from bfcl.stages.balancing.finder import Likeness
from bfcl.stages.balancing.limits import HARD_LIMITS
from bfcl.stages.balancing.quotas import apportioned
from bfcl.stages.balancing.terms import intent_allowance, tool_call_rows
from bfcl.stages.balancing.unmet import Outcome, UnmetTarget

CONTRACT_VERSION: Final = "1.0"
SCHEMA_VERSION: Final = "1.0"

_TABLE, _REPORT = stage_named("dedup_balancing").writes


class Account(NamedTuple):
    """What the stage did, in the order of the survivors."""

    candidates: Sequence[Candidate]
    rows: Sequence[BalancedTask]
    outcome: Outcome
    unmet: Sequence[UnmetTarget]
    likeness: Likeness


def report(
    account: Account, generation: TaskGeneration, deduplication: SemanticDeduplication, seed: int
) -> dict[str, Json]:
    """The document. Inventory is what could be selected: survivors less removed duplicates and rows over a limit."""
    candidates, rows, outcome, unmet, _ = account
    drops: dict[str, int] = dict(Counter(str(row.drop_reason) for row in rows if row.drop_reason is not None))
    return {
        "schema_version": SCHEMA_VERSION,
        "contract_version": CONTRACT_VERSION,
        "counts": _counts(rows, drops, deduplication),
        "drop_reason_counts": drops,
        "by_template": _by(account, lambda candidate: candidate.template_id),
        **{f"by_{name}": _by(account, DIMENSIONS[name]) for name in ("category", "turn_policy", "difficulty")},
        "inventory_counts": _json(all_counts(outcome.eligible)),
        "target_counts": _targets(outcome),
        "actual_counts": _json(all_counts(outcome.selected)),
        "diversity": _diversity(outcome),
        "unmet_targets": [each.to_json() for each in unmet],
        "release_policy": {
            "unmet_target_policy": deduplication.unmet_target_policy,
            "unmet_target_action": deduplication.unmet_target_policy if unmet else "none",
            "gold_eligible": not unmet,
        },
        "hard_limit_drops": {reason: drops.get(reason, 0) for reason in HARD_LIMITS},
        "category_cap": _category_cap(outcome),
        "rare_edge_preservation": _edges(candidates, rows),
        "coverage_bucket_count": outcome.budget.buckets,
        "lineage": _lineage(account, generation, deduplication, seed),
        "artifacts": {"balanced_tasks": _TABLE, "dedup_balancing_report": _REPORT},
    }


def _json(numbers: Mapping[str, Mapping[str, int]]) -> Json:
    return {name: dict(buckets) for name, buckets in numbers.items()}


def _counts(rows: Sequence[BalancedTask], drops: Mapping[str, int], deduplication: SemanticDeduplication) -> Json:
    duplicates = sum(row.is_duplicate for row in rows)
    selected = sum(row.selected for row in rows)
    return {
        "stage_ten_survivors": len(rows),
        "curator_duplicates": sum(row.curator_is_duplicate for row in rows),
        "final_duplicates": duplicates,
        "semantic_duplicate_annotations": 0 if deduplication.remove_duplicates else duplicates,
        "semantic_duplicate_drops": drops.get("semantic_duplicate", 0),
        "selected": selected,
        "dropped": len(rows) - selected,
    }


def _by(account: Account, reading: Callable[[Candidate], str]) -> Json:
    """Bucket to its survivors, how many of them are selected and how many not."""
    survivors = Counter(map(reading, account.candidates))
    selected = Counter(map(reading, account.outcome.selected))
    return {
        bucket: {"survivors": number, "selected": selected[bucket], "dropped": number - selected[bucket]}
        for bucket, number in survivors.items()
    }


def _targets(outcome: Outcome) -> Json:
    """Rows asked for by all that is declared: at most for categories and intents, exactly for the others."""
    terms, selected = outcome.terms, outcome.selected
    categories = Counter(row.category for row in selected)
    calls = counts(selected, DIMENSIONS["tool_call_count"])
    wanted: dict[str, Json] = {
        "budget": outcome.budget.size,
        "category": {row.category: terms.category_cap for row in outcome.eligible},
        **{dimension: dict(quotas) for dimension, quotas in terms.quotas.items()},
    }
    if outcome.budget.target is not None:
        wanted["publication_count"] = outcome.budget.target
    if terms.tool_calls:
        wanted["tool_call_count"] = dict(apportioned(terms.tool_calls, tool_call_rows(calls, terms)))
    if terms.intent_share is not None:
        share = terms.intent_share
        wanted["intent"] = {intent_bucket(row): intent_allowance(share, categories[row.category]) for row in selected}
    return wanted


def _diversity(outcome: Outcome) -> Json:
    inventory = {name: len(set(map(reading, outcome.eligible))) for name, reading in GROUPS.items()}
    selected = {name: len(set(map(reading, outcome.selected))) for name, reading in GROUPS.items()}
    rows = len(outcome.selected)
    return {
        "distinct": {name: {"inventory": inventory[name], "selected": selected[name]} for name in GROUPS},
        "exact_surface_ratio": selected["exact_surface"] / rows if rows else None,
        "distinct_surfaces_required": outcome.terms.surfaces,
    }


def _category_cap(outcome: Outcome) -> Json:
    cap = outcome.terms.category_cap
    categories = Counter(row.category for row in outcome.selected)
    return {
        "tasks_per_category": cap,
        "overflow": {category: number - cap for category, number in categories.items() if number > cap},
    }


def _edges(candidates: Sequence[Candidate], rows: Sequence[BalancedTask]) -> Json:
    """Edge signature to its survivors and selected rows, and how many rows had to be selected for their bucket."""
    survivors = Counter(edge for candidate in candidates for edge in candidate.edge_signatures)
    selected = Counter(edge for row in rows if row.selected for edge in row.edge_signatures)
    return {
        "edge_signatures": {
            edge: {"survivors": number, "selected": selected[edge]} for edge, number in survivors.items()
        },
        "coverage_locked_rows": sum(row.coverage_locked for row in rows),
    }


def _lineage(
    account: Account, generation: TaskGeneration, deduplication: SemanticDeduplication, seed: int
) -> dict[str, Json]:
    """What the result depends on. The input hash is over `[task_id, text_hash]` of the survivors, sorted by id."""
    settings: Json = {
        "random_seed": seed,
        "task_generation": asdict(generation),
        "semantic_deduplication_config": asdict(deduplication),
    }
    projected = sorted((candidate.task_id, candidate.text_hash) for candidate in account.candidates)
    return {
        "settings": settings,
        "settings_hash": sha256_json(settings),
        "projected_input_hash": sha256_json(projected),
        "embedding_signature": account.likeness.embedding_signature,
        "effective_n_clusters": account.likeness.effective_n_clusters,
    }
