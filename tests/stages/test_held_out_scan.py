"""The scan of finished rows: what it finds does not depend on what expansion claims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.pack.held_out import policy_summary
from bfcl.stages.held_out_scan import Hit, Scan, held_out_scan, leak_problems, scan_for, stage_four
from tests.release.samples import row, rows
from tests.stages.policies import POLICY, bindings, scanned

V1, V2 = '["valves","V-1"]', '["valves","V-2"]'
GOOD = stage_four(bindings(POLICY, 4), POLICY, 4)
LEAKING = replace(POLICY, fixtures={"valves": ("V-2", "V-77")})
FIX = "\n  fix: read stage_cache/held_out_scan.json, then run again with rebuild=1"


def test_rows_that_use_nothing_reserved_do_not_hit() -> None:
    scan = scan_for(POLICY)
    assert [scan.see(one) for one in rows(4)] == [False] * 4
    assert (scan.rows, scan.hits) == (4, [])


def test_row_that_binds_a_reserved_row_hits() -> None:
    scan = scan_for(LEAKING)
    assert [scan.see(one) for one in rows(3)] == [False, True, False]
    assert scan.hits == [Hit(row(2)["task_id"], None, (V2,))]  # type: ignore[arg-type]


def test_row_of_a_reserved_template_hits() -> None:
    one = row(1)
    scan = Scan((one["template_id"],), ())
    assert scan.see(one) is True
    assert scan.hits == [Hit(one["task_id"], one["template_id"], ())]  # type: ignore[arg-type]


@given(
    refs=st.lists(st.sampled_from([V1, V2, '["valves","V-3"]']), unique=True),
    reserved=st.sets(st.sampled_from([V1, V2])),
)
def test_hit_is_exactly_the_reserved_part_of_the_references(refs: list[str], reserved: set[str]) -> None:
    one = row(1)
    one["fixture_refs"] = refs
    scan = Scan((), reserved)
    assert scan.see(one) is bool(reserved & set(refs))
    assert [hit.refs for hit in scan.hits] == ([tuple(sorted(reserved & set(refs)))] if reserved & set(refs) else [])


def test_scan_document_of_a_clean_run() -> None:
    assert held_out_scan(scanned(4, POLICY), POLICY, GOOD, planned=3) == {
        "contract_version": "1.0",
        "policy": policy_summary(POLICY),
        "stage_four": {
            "artifact": "held_out_bindings.json",
            "content_hash": sha256_of(bindings(POLICY, 4)),
            "counts": {"bind_attempts": 9, "templates_blocked": 1, "fixture_refs_blocked": 1, "tasks_expanded": 4},
            "consistent": True,
        },
        "counts": {
            "rows_scanned": 4,
            "rows_hit": 0,
            "rows_blocked": 0,
            "rows_dropped": 0,
            "planned_rows_published": 3,
            "rows_published": 3,
        },
        "action": "publish",
        "hits": [],
    }
    assert leak_problems(scanned(4, POLICY), GOOD) == []


def test_scan_document_of_a_leak_aborts_and_lists_the_rows() -> None:
    evidence = stage_four(bindings(LEAKING, 4), LEAKING, 4)
    scan = scanned(4, LEAKING)
    document: Any = held_out_scan(scan, LEAKING, evidence, planned=3)
    assert document["action"] == "abort"
    assert document["counts"] == {
        "rows_scanned": 4,
        "rows_hit": 1,
        "rows_blocked": 3,
        "rows_dropped": 0,
        "planned_rows_published": 3,
        "rows_published": 0,
    }
    assert document["hits"] == [
        {"task_id": row(2)["task_id"], "matched_template_id": None, "matched_fixture_refs": (V2,)}
    ]
    assert [str(one) for one in leak_problems(scan, evidence)] == [
        "held_out_leak_detected: benchmark_raw: 1 of 4 raw rows use reserved material, expected none: "
        f"`{row(2)['task_id']}`{FIX}"
    ]


def test_many_leaking_rows_are_told_in_one_problem() -> None:
    scan = Scan((row(1)["template_id"],), ())
    for one in rows(7):
        scan.see(one)
    (problem,) = leak_problems(scan, GOOD)
    shown = ", ".join(f"`{one['task_id']}`" for one in rows(5))
    assert problem.message == f"7 of 7 raw rows use reserved material, expected none: {shown} and 2 more"


NO_PROOF = ", so nothing proves that no task binds reserved material"


def counts(**edits: Json) -> Mapping[str, Json]:
    good: dict[str, Json] = json.loads(bindings(POLICY, 4))["counts"]
    return {**good, **edits}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (None, "is missing"),
        (b"{", "is no JSON object"),
        (b"[]", "is no JSON object"),
        (bindings(POLICY, 4, contract_version="2.0"), "speaks of another policy than `tree/held_out.yaml`"),
        (bindings(POLICY, 4, policy=None), "speaks of another policy than `tree/held_out.yaml`"),
        (bindings(POLICY, 4, blocked_templates=[]), "does not block exactly the reserved templates"),
        (bindings(POLICY, 4, refs=(V1,)), "blocks other rows than the policy reserves"),
        (bindings(POLICY, 4, blocked_fixture_refs=[7]), "blocks other rows than the policy reserves"),
        (bindings(POLICY, 4, blocked_fixture_refs=None), "blocks other rows than the policy reserves"),
        (bindings(POLICY, 5), "counts differently than its lists and the 4 tasks expanded"),
        (bindings(POLICY, 4, counts=None), "counts differently than its lists and the 4 tasks expanded"),
        (
            bindings(POLICY, 4, counts=counts(bind_attempts=0)),
            "counts differently than its lists and the 4 tasks expanded",
        ),
        (
            bindings(POLICY, 4, counts=counts(bind_attempts=None)),
            "counts differently than its lists and the 4 tasks expanded",
        ),
        (
            bindings(POLICY, 4, counts=counts(templates_blocked=0)),
            "counts differently than its lists and the 4 tasks expanded",
        ),
    ],
)
def test_evidence_of_stage_four_that_does_not_fit_counts_as_a_leak(data: bytes | None, fault: str) -> None:
    evidence = stage_four(data, POLICY, 4)
    assert evidence.summary["consistent"] is False
    expected = f"held_out_leak_detected: held_out_bindings: held_out_bindings.json {fault}{NO_PROOF}{FIX}"
    assert expected in [str(one) for one in leak_problems(scanned(4, POLICY), evidence)]
    document: Any = held_out_scan(scanned(4, POLICY), POLICY, evidence, planned=4)
    assert (document["action"], document["counts"]["rows_published"]) == ("abort", 0)


def test_evidence_of_another_version_of_the_policy_does_not_count() -> None:
    evidence = stage_four(bindings(POLICY, 4), replace(POLICY, seed=1), 4)
    assert evidence.faults == ("held_out_bindings.json speaks of another policy than `tree/held_out.yaml`",)
