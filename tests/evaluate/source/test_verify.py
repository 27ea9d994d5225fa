"""A published benchmark passes its gates in order, and two values identify it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.evaluate.source.verify import verify_source
from bfcl.tables.benchmark import BenchmarkRow
from tests.evaluate.refusals import refused
from tests.evaluate.source.builder import Site, drop, put, role, site_of
from tests.system.project import Project

ALL_IN_ORDER = (
    "eval_source_manifest_invalid",
    "eval_source_publication_invalid",
    "eval_source_benchmark_schema_mismatch",
    "eval_source_task_index_invalid",
    "eval_source_oracle_pack_drift",
    "eval_executable_unauthorized",
    "eval_source_translation_lineage_invalid",
    "eval_source_model_exposure_invalid",
)


def verify(site: Site, *, probe_oracle: bool = True, **edits: Any) -> Callable[[], VerifiedSource]:
    settings = site.settings(**edits)
    return lambda: verify_source(settings, probe_oracle=probe_oracle)


def test_verify_source_accepts_what_was_published(site: Site) -> None:
    before = set(sys.modules)
    verified = verify(site)()
    assert [row.published for row in verified.rows] == site.rows()
    assert verified.task_ids == tuple(row["task_id"] for row in site.rows())
    assert list(verified.raw_ids) == [row["task_id"] for row in site.rows("raw")]
    manifest = site.manifest()
    assert (verified.run_id, verified.oracle_clock) == (manifest["run_id"], manifest["oracle_clock"])
    assert verified.run_dir == site.run_dir
    assert verified.oracle is not None
    assert verified.oracle.probed
    assert (verified.pack, verified.config) == (verified.oracle.pack, verified.oracle.config)
    assert (verified.exposures, verified.modes) == ((), ("trace", "executable"))
    assert not {name for name in set(sys.modules) - before if name in ("backend", "assertions")}


def test_verify_source_accepts_a_selection_with_held_out_rows(chosen: Site) -> None:
    verified = verify(chosen)()
    assert set(verified.files) == {
        "run_manifest.json",
        "benchmark.parquet",
        "benchmark_raw.parquet",
        "stage_cache/balanced_tasks.parquet",
        "stage_cache/held_out_normalized.json",
        "stage_cache/held_out_scan.json",
    }


def test_verify_source_needs_no_pack_for_traces(site: Site) -> None:
    (site.pack / "manifest.yaml").unlink()
    verified = verify(site, trace_only=True)()
    assert (verified.oracle, verified.pack, verified.config) == (None, None, None)


@pytest.mark.parametrize(
    ("edits", "probe_oracle", "told", "field"),
    [
        ({}, False, "probe_oracle is false with mode executable", None),
        ({"oracle": None}, True, "source_oracle is null with mode executable", "source_oracle"),
    ],
)
def test_gate_eleven_refuses_an_executable_mode_without_a_probe(
    edits: dict[str, Any], probe_oracle: bool, told: str, field: str | None, site: Site
) -> None:
    act = verify(site, probe_oracle=probe_oracle, **edits)
    assert site.told(act) == [
        f"eval.yaml: eval_source_oracle_resource_mismatch: {told}; expected an oracle that was probed "
        "(gate eleven, the oracle's callables)\n  fix: set `probe_oracle: true` and name the pack, or evaluate with "
        "`mode: [trace]`"
    ]
    assert [problem.field for problem in refused(act)] == [field]


GOLD = " (gate twelve, Gold eligibility)\n  fix: "
POLICY = "write `lineage: {policy: strict_separation}` in the generation configuration"
TRACE = "; or evaluate with `mode: [trace]`"


@pytest.mark.parametrize(
    ("reasons", "fix"),
    [
        (["smoke_no_publication"], f"{POLICY}, run `doit generate` again"),
        (["pack_tier_not_gold"], "mend what `bfcl explain pack_tier_not_gold` tells of, run `doit generate` again"),
        (
            ["pack_tier_not_gold", "smoke_no_publication"],
            f"{POLICY}, mend what `bfcl explain pack_tier_not_gold` tells of, run `doit generate` again",
        ),
        ([], "evaluate a run that is Gold"),
    ],
)
def test_gate_twelve_refuses_a_release_that_is_not_gold_once_and_says_how_to_make_one(
    reasons: list[str], fix: str, site: Site
) -> None:
    site.edit_rows(lambda row: {**row, "gold_eligible": False})
    site.edit_manifest(put(("gold_eligible",), False), put(("gold_ineligibility_reasons",), reasons))
    ids, count = ", ".join(f"`{row['task_id']}`" for row in site.rows()[:3]), len(site.rows())
    assert count > 3
    assert site.told(verify(site)) == [
        f"run/run_manifest.json: eval_executable_unauthorized: gold_eligible is false ({', '.join(reasons)}), as in "
        f"{count} of {count} rows ({ids}, ...); expected a Gold benchmark for an executable mode{GOLD}{fix}{TRACE}"
    ]
    assert verify(site, trace_only=True)().rows


def test_gate_twelve_refuses_a_manifest_that_is_not_gold_above_rows_that_are(site: Site) -> None:
    site.edit_manifest(put(("gold_eligible",), False), put(("gold_ineligibility_reasons",), ["smoke_no_publication"]))
    assert site.told(verify(site)) == [
        "run/run_manifest.json: eval_executable_unauthorized: gold_eligible is false (smoke_no_publication), as in no "
        f"row; expected a Gold benchmark for an executable mode{GOLD}{POLICY}, run `doit generate` again{TRACE}"
    ]


def test_gate_twelve_refuses_a_row_that_is_not_gold(site: Site) -> None:
    site.edit_rows(lambda row: {**row, "gold_eligible": False}, first=1)
    first, count = site.rows()[0]["task_id"], len(site.rows())
    assert site.told(verify(site)) == [
        f"run/benchmark.parquet: eval_executable_unauthorized: gold_eligible is false in 1 of {count} rows (`{first}`) "
        f"and true in run_manifest.json; expected true in each row{GOLD}generate the benchmark again; published files "
        "are never edited"
    ]
    assert verify(site, trace_only=True)().rows


def test_gate_thirteen_refuses_every_translation(site: Site) -> None:
    payload = {"source": {"translation_manifest": {"content_hash": sha256_of(b"")}}}
    assert site.told(verify(site, hash_payload=payload)) == [
        "eval.yaml: eval_source_translation_lineage_invalid: translation_manifest names a localised benchmark; "
        "expected null: none is supported yet (gate thirteen, translation lineage)"
        "\n  fix: write `translation_manifest: null`"
    ]


def test_gates_refuse_in_order_each_before_the_next(site: Site) -> None:
    """Everything is wrong at once; mending one thing after the other brings up the next gate."""
    manifest, rows = site.manifest(), site.rows()
    untranslated = {"source": {"translation_manifest": None}}
    translated = {"source": {"translation_manifest": {"content_hash": sha256_of(b"")}}}
    site.edit_rows(lambda row: {**row, "task_id": "a b", "tools": "{}", "gold_eligible": False}, first=1)
    site.edit_manifest(
        put(("oracle", "kind"), "magic"),
        put(("publication", "schema_version"), "2.0"),
        put(("models", "other"), role()),
    )
    (site.pack / "notes.txt").write_text("other", encoding="utf-8")

    def rewritten(**columns: Any) -> Callable[[], None]:
        def rewrite() -> None:
            for table in ("raw", "published"):
                site.rewrite(table, [cast("BenchmarkRow", {**rows[0], **columns}), *rows[1:]])

        return rewrite

    mending: list[Callable[[], object]] = [
        lambda: site.edit_manifest(put(("oracle", "kind"), "python")),
        lambda: site.edit_manifest(put(("publication", "schema_version"), "1.0")),
        rewritten(task_id="a b", gold_eligible=False),
        rewritten(gold_eligible=False),
        (site.pack / "notes.txt").unlink,
        rewritten(),
        lambda: None,
        lambda: site.edit_manifest(drop("models", "other")),
    ]
    seen = []
    for number, mend in enumerate(mending):
        payload = translated if number < 7 else untranslated
        seen.append({one.split(": ")[1] for one in site.told(verify(site, hash_payload=payload))})
        mend()
    assert seen == [{code} for code in ALL_IN_ORDER]
    assert site.manifest() == manifest
    verify(site)()


# --- identities -----------------------------------------------------------------------------------------------------


def test_identities_depend_on_no_path_and_no_time(site: Site, release: Project, tmp_path: Any) -> None:
    elsewhere = site_of(release, tmp_path / "another" / "place")
    for path in elsewhere.run_dir.rglob("*"):
        path.touch()
    one, other = verify(site)(), verify(elsewhere)()
    assert one.source_identity == other.source_identity
    assert one.verification_identity == other.verification_identity


def test_source_identity_is_shared_by_evaluations_of_one_benchmark(site: Site) -> None:
    verified = [
        verify(site)(),
        verify(site, trace_only=True)(),
        verify(site, eval_config_hash=sha256_of(b"other"))(),
        verify(site, modes=("executable",))(),
        verify(site, trace_only=True, probe_oracle=False)(),
    ]
    assert len({one.source_identity for one in verified}) == 1
    assert len({one.verification_identity for one in verified}) == 4
    assert verified[1].verification_identity == verified[4].verification_identity


def test_both_identities_depend_on_everything_that_was_verified(site: Site) -> None:
    verified = [verify(site, trace_only=True)()]
    site.edit_manifest(put(("created_at",), "2026-01-01T00:00:00+00:00"))
    verified.append(verify(site, trace_only=True)())
    site.edit_rows(lambda row: {**row, "intent": "another"}, first=1)
    verified.append(verify(site, trace_only=True)())
    site.rewrite("published", site.rows()[1:])
    verified.append(verify(site, trace_only=True)())
    site.edit_manifest(put(("pack", "content_hash"), sha256_of(b"other")))
    verified.append(verify(site, trace_only=True)())
    for identity in ("source_identity", "verification_identity"):
        assert len({getattr(one, identity) for one in verified}) == len(verified)


def test_identities_depend_on_exposures(chosen: Site) -> None:
    before = verify(chosen, trace_only=True)()
    chosen.edit_manifest(put(("models", "surface_judge"), role()))
    after = verify(chosen, trace_only=True)()
    assert [one.role for one in after.exposures] == ["surface_judge"]
    assert after.exposures[0].task_ids == after.task_ids
    assert dataclasses.replace(before.release, manifest={}) == dataclasses.replace(after.release, manifest={})
    assert before.source_identity != after.source_identity
