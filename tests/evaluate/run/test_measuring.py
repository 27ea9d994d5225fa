"""Under what a run's scores are made, and what its candidates come to together."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bfcl.evaluate.run.measuring import identities_of, private_tasks_of, result_of
from tests.evaluate.arena import Arena, executable
from tests.evaluate.measuring import measured, right
from tests.evaluate.run.test_episodes import opened


def test_scores_of_a_trace_hang_on_no_oracle_even_where_one_was_verified(arena: Arena) -> None:
    prepared, _ = opened(arena)
    identities = identities_of(prepared)
    scoring = prepared.settings.scoring
    assert (identities.scoring_policy_hash, identities.scoring_contract_hash) == (
        scoring.policy_hash,
        scoring.contract_hash,
    )
    assert (identities.plan_identity, identities.oracle_hash) == (prepared.plan.plan_identity, None)


def test_scores_of_an_executable_run_hang_on_its_pack(arena: Arena) -> None:
    prepared, _ = opened(arena, executable)
    assert prepared.verified.pack is not None
    assert identities_of(prepared).oracle_hash == prepared.verified.pack.fingerprint


def test_no_private_task_is_made_where_nobody_asks_for_one(arena: Arena) -> None:
    prepared, _ = opened(arena)
    assert asyncio.run(private_tasks_of(prepared)) is None


def test_result_is_of_the_prepared_run_and_its_candidates_in_their_order(arena: Arena, tmp_path: Path) -> None:
    prepared, _ = opened(arena)
    one, _, _ = measured(tmp_path, right, trials=None)
    result = result_of(prepared, [one, one])
    assert (result.eval_run_id, result.candidates) == (prepared.before.eval_run_id, (one, one))
    assert (result.settings, result.verified, result.plan) == (prepared.settings, prepared.verified, prepared.plan)
    assert (result.rows, result.identities) == (prepared.rows, identities_of(prepared))
