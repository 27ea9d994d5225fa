from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.preflight import Prepared, prepare, unset_credentials
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.arena import KEY, Arena, Data, Edit, executable, put, repeats
from tests.evaluate.refusals import refused
from tests.evaluate.source.builder import Site, role
from tests.evaluate.source.builder import put as edit

HOW = How(now=lambda: datetime(2026, 3, 2, 9, 0, 5, tzinfo=UTC))


class Published(Site):
    """The arena's own release, to be edited."""

    @property
    def run_dir(self) -> Path:
        return Arena(self.root).run_dir


def prepared(arena: Arena, *edits: Edit, dry_run: bool = False, probe_oracle: bool = True) -> Prepared:
    path = arena.configure("mine", "http://127.0.0.1:9/v1", *edits)
    envelope = Envelope(path=path, eval_config_path=path, dry_run=dry_run, probe_oracle=probe_oracle)
    return prepare(envelope, load_settings(path), HOW)


def left(arena: Arena) -> list[str]:
    return sorted(path.name for path in arena.out("mine").glob("*"))


def test_whole_plan_has_rows_and_scripts_in_publication_order(arena: Arena) -> None:
    found = prepared(arena)
    ids = [row.task_id for row in arena.rows()]
    assert list(found.rows) == list(found.scripts) == ids
    assert found.plan.task_ids("scripted") == tuple(ids)
    assert left(arena) == ["contamination_report.json", "resolved_eval_config.json", "source_verification_report.json"]
    report = json.loads((arena.out("mine") / "source_verification_report.json").read_bytes())
    assert report["written_at"] == "2026-03-02T09:00:05+00:00"


def test_dry_run_writes_nothing(arena: Arena) -> None:
    prepared(arena, dry_run=True)
    assert left(arena) == []


@pytest.mark.parametrize("dry_run", [True, False])
def test_refused_source_is_told_in_a_file_unless_nothing_may_be_written(arena: Arena, dry_run: bool) -> None:
    manifest = arena.run_dir / "benchmark_raw.parquet"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    problems = refused(lambda: prepared(arena, dry_run=dry_run))
    assert {problem.code for problem in problems} == {"eval_source_benchmark_hash_mismatch"}
    told = [] if dry_run else ["resolved_eval_config.json", "source_verification_failure.json"]
    assert left(arena) == told


def test_exposed_candidate_is_told_in_a_file(arena: Arena) -> None:
    helper = role("scripted-gold", provider="scripted", source="scripted")
    published = Published(arena.root)
    published.edit_rows(lambda row: {**row, "paraphrase_model_canonical": helper["canonical_id"]})
    published.edit_manifest(edit(("models", "paraphrase"), helper))
    told = [(problem.code, problem.subject) for problem in refused(lambda: prepared(arena))]
    assert told == [("eval_contamination_candidate_exposed", "scripted")]
    assert left(arena) == ["contamination_failure.json", "resolved_eval_config.json", "source_verification_report.json"]


def test_policy_that_cannot_judge_a_task_is_refused_before_it_is_paid_for(arena: Arena) -> None:
    def only(config: Data) -> None:
        config["scoring"]["task_success"] = "assertions_only"

    assert prepared(arena, executable, only).rows
    bare = arena.rows()[2].task_id
    Published(arena.root).edit_rows(lambda row: {**row, "success_assertions": []} if row["task_id"] == bare else row)
    (problem,) = refused(lambda: prepared(arena, executable, only))
    assert str(problem) == (
        "configs/mine.yaml: eval_executable_scoring_policy_unsupported: is assertions_only, and 1 of 4 tasks declare "
        f"no assertion: {bare}\n"
        "  fix: set `task_success: all_applicable_gates`"
    )


def test_extension_of_another_provider_is_refused_before_the_first_request(arena: Arena) -> None:
    edit = put("candidates", 0, "inference", "provider_extensions", value={"other.v1": {"top_k": 1}})
    (problem,) = refused(lambda: prepared(arena, edit))
    assert str(problem) == (
        "eval_candidate_provider_extension_invalid: scripted: the extensions stand under `other.v1`; "
        "expected `scripted.v1`, provider and API version\n"
        "  fix: write them under `scripted.v1`, or leave them out"
    )


def test_unprobed_oracle_is_refused_for_an_executable_run(arena: Arena) -> None:
    (problem,) = refused(lambda: prepared(arena, executable, probe_oracle=False))
    assert (problem.code, problem.field) == ("eval_source_oracle_resource_mismatch", "probe_oracle")


def test_warnings_name_what_keeps_tasks_from_ending(arena: Arena) -> None:
    found = prepared(arena, put("candidates", 0, "inference", "tool_choice", value="required"))
    assert [warning.code for warning in found.warnings] == ["tool_choice_bars_turns"]


def test_unset_key_is_told_once_with_everyone_who_needs_it(arena: Arena) -> None:
    def three(config: Data) -> None:
        (one,) = config["candidates"]
        others = [
            {
                **one,
                "alias": alias,
                "model": alias,
                "model_identity": {"source": "scripted", "model": alias},
                "api": {**one["api"], "api_key_env": key},
            }
            for alias, key in (("other", KEY), ("paid", "PAID_KEY"))
        ]
        config["candidates"] = [one, *others]

    settings = load_settings(arena.configure("mine", "http://127.0.0.1:9/v1", three))
    told = unset_credentials(settings, How(environment={"PAID_KEY": "k"}))
    assert [str(problem) for problem in told] == [
        f"eval_candidate_credentials_missing: other, scripted: the environment variable {KEY} is not set, and the run "
        "would stop at its first request\n"
        f"  fix: export {KEY} with the provider's key before the run; for a server that wants none, any value"
    ]
    assert unset_credentials(settings, How(environment={"PAID_KEY": "k", KEY: "k"})) == ()
    (unfit,) = unset_credentials(settings, How(environment={"PAID_KEY": "k", KEY: " k"}))
    assert "holds what no HTTP header can carry, and the run would stop" in unfit.message


def test_seed_that_is_to_grow_and_is_not_sent_is_warned_of(arena: Arena) -> None:
    (warning,) = prepared(arena, repeats(2, "increment")).warnings
    assert str(warning) == (
        "configs/mine.yaml: seed_policy_without_seed: `seed_policy` is `increment`, and `inference.seed` "
        "of scripted is null: no request carries a seed, and every trial asks the same\n"
        "  fix: set `inference.seed` to a number, or write `seed_policy: fixed`"
    )
    seeded = put("candidates", 0, "inference", "seed", value=7)
    assert prepared(arena, repeats(2, "increment"), seeded).warnings == ()
    assert prepared(arena, repeats(2)).warnings == ()
