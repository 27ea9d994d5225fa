"""The manifest names everything that a result rests on, and where its answers came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.artifacts.manifest import eval_manifest, imported_json
from bfcl.evaluate.artifacts.result import Imported, Result
from tests.evaluate.driven import LIMITS, candidate
from tests.evaluate.measuring import measured, result_of, right

CALLS, EPISODES = sha256_of(b"calls"), sha256_of(b"episodes")


@pytest.fixture
def result(tmp_path: Path) -> Result:
    one, _, _ = measured(tmp_path, right, trials=None)
    return result_of(tmp_path, one)


def test_manifest_tells_identities_limits_and_candidates_without_an_address_or_a_key(result: Result) -> None:
    told = eval_manifest(result, {}, runtime={"python": "3"}, resumed_from=None)
    assert (told["eval_run_id"], told["eval_scope"], told["schema_version"]) == ("R", "trace", "1.0")
    assert told["limits"] == {
        "max_turns": LIMITS.max_turns,
        "max_parallel_tasks": LIMITS.max_parallel_tasks,
        "max_retries": LIMITS.max_retries,
        "tool_timeout_s": LIMITS.tool_timeout_s,
        "candidate_timeout_s": LIMITS.candidate_timeout_s,
        "episode_timeout_s": LIMITS.episode_timeout_s,
    }
    assert told["candidates"] == [
        {
            "alias": "small",
            "canonical_id": candidate().canonical_id,
            "assurance": "weights_pinned",
            "model": "org/small",
            "provider": "vllm",
            "provider_api_version": "v1",
            "inference_parameters_hash": candidate().inference_parameters_hash,
        }
    ]
    assert told["candidate_aggregates"] == {"small": result.candidates[0].aggregate.aggregate_hash}
    assert (told["publication_allowed"], told["non_publication_reasons"]) == (False, list(result.reasons))
    assert candidate().api_key_env not in str(told)
    assert candidate().base_url not in str(told)


def test_artifacts_are_named_with_their_files_in_one_order(result: Result) -> None:
    hashes = {"eval_breakdowns": sha256_of(b"b"), "eval_report": sha256_of(b"r")}
    told = eval_manifest(result, hashes, runtime=None, resumed_from=None)["artifacts"]
    assert told == {
        "eval_report": {"file": "eval_report.json", "content_hash": sha256_of(b"r")},
        "eval_breakdowns": {"file": "eval_breakdowns.json", "content_hash": sha256_of(b"b")},
    }
    assert told == eval_manifest(result, dict(reversed(hashes.items())), runtime=None, resumed_from=None)["artifacts"]


def test_runs_that_answers_came_from_are_told_nested_as_one_went_on_from_the_other() -> None:
    assert imported_json(None) is None
    first = Imported(candidate_io_cache=CALLS, tool_trace_cache=None)
    second = Imported(candidate_io_cache=None, tool_trace_cache=EPISODES, further=first)
    assert imported_json(second) == {
        "candidate_io_cache": {"content_hash": None},
        "tool_trace_cache": {"content_hash": EPISODES},
        "resumed_from": {"candidate_io_cache": {"content_hash": CALLS}, "tool_trace_cache": {"content_hash": None}},
    }
