"""How do two measured candidates compare, task by task? Rule: evaluation.md §16.2."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import ConfigError, EvalError, Problem, raise_all
from bfcl.evaluate.after.paired import (
    Pair,
    Tries,
    difference_interval,
    flips,
    group_tests,
    mean_difference,
    tally,
    untested_groups,
)
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.sides import (
    Side,
    incomparable,
    kinds_by_task,
    pairs_of,
    require_tables,
    tries_by_task,
)
from bfcl.evaluate.after.upheld import has_records, require_upheld
from bfcl.evaluate.score.intervals import CONFIDENCE, SEED, wilson

INCOMPATIBLE: Final = "comparison_incompatible"
SCHEMA_VERSION: Final = "1.0"
SIGNIFICANT: Final = 0.05
"""Below this a p value counts as a difference."""


def compare(
    first: Side,
    second: Side,
    whereabouts: Whereabouts | None = None,
    *,
    seed: int = SEED,
) -> dict[str, Json]:
    """The content of `eval_comparison.json`. `difference` is the first one's rate less the second's.

    Both are verified first, but for an evaluation that was told to keep no records: it is taken at its word, and the
    document says so.

    Raises: EvalError `comparison_incompatible` with everything in which the two were not measured alike;
    ConfigError where both are the same candidate; EvalError of a benchmark or record that does not hold.
    """
    same = first.finished.directory.resolve() == second.finished.directory.resolve()
    if same and first.measured.alias == second.measured.alias:
        message = "is compared with itself; expected two candidates"
        fix = "name another alias or another directory"
        raise ConfigError(Problem(code=INCOMPATIBLE, subject=second.name, message=message, fix=fix))
    require_tables([first, second], INCOMPATIBLE)
    raise_all(EvalError, list(incomparable(first, second, INCOMPATIBLE)))
    directories = [side.finished.directory for side in (first, second)]
    recorded = [has_records(directory, whereabouts) for directory in directories]
    require_upheld(itertools.compress(directories, recorded), whereabouts)
    ours, theirs = tries_by_task(first, whereabouts), tries_by_task(second, whereabouts)
    pairs = pairs_of(ours, theirs, kinds_by_task(first, whereabouts))
    uncounted = [task_id for task_id in first.measured.task_ids if task_id not in ours or task_id not in theirs]
    manifest = first.finished.manifest
    return {
        "schema_version": SCHEMA_VERSION,
        "first": {**first.to_json(), "verified": recorded[0], **_success(first, [pair.first for pair in pairs])},
        "second": {**second.to_json(), "verified": recorded[1], **_success(second, [pair.second for pair in pairs])},
        "shared": {
            "source_identity": manifest["source_identity"],
            "scoring_policy_hash": manifest["scoring_policy_hash"],
            "eval_scope": manifest["eval_scope"],
            "limits": manifest["limits"],
            "task_count": len(first.measured.task_ids),
        },
        "paired_tasks": len(pairs),
        "uncounted_tasks": uncounted,
        **(_statistics(pairs, seed) if pairs else {}),
    }


def _success(side: Side, tries: Sequence[Tries]) -> dict[str, Json]:
    """Over the pairs. A share of trials has no Wilson interval: trials of one task are not independent."""
    repeated = any(one.trials > 1 for one in tries)
    successes = sum(one.successes for one in tries)
    interval = None if repeated else wilson(successes, len(tries))
    rate = sum(one.rate for one in tries) / len(tries) if tries else None
    return {
        "success_rate": None if rate is None else float(rate),
        "interval": None if interval is None else interval.to_json(),
        "trials": sum(one.trials for one in tries),
        "successes": successes,
        "non_candidate_stops": side.measured.non_candidate_stops,
        "stops_count_as_failures": "repeats" not in side.finished.report,
    }


def _statistics(pairs: Sequence[Pair], seed: int) -> dict[str, Json]:
    whole = tally(pairs)
    return {
        "table": whole.to_json(),
        "mcnemar_exact_p": whole.p_value,
        "significant": whole.p_value < SIGNIFICANT,
        "difference": {
            "value": float(mean_difference(pairs)),
            "confidence": CONFIDENCE,
            "clustered_by_template_id": difference_interval(pairs, seed=seed).to_json(),
        },
        "groups": {
            "adjustment": "holm",
            "tests": [one.to_json() for one in group_tests(pairs)],
            "untested": [one.to_json() for one in untested_groups(pairs)],
        },
        "flips": flips(pairs),
    }
