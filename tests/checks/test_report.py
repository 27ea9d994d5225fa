"""The report: its shape, its bytes, and how a finding reads."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from bfcl.checks.report import as_problem, config_fingerprint, report
from bfcl.digest import Digest, sha256_of
from bfcl.records.verdict import CheckResult, Finding, PackVerdict
from tests.checks.judged import Judged, judge
from tests.packs import ALL_POLICIES, put, put_template, run_config, text

KEYS = {
    "report_version",
    "pack_id",
    "version",
    "oracle_kind",
    "worker",
    "pack_fingerprint",
    "config_fingerprint",
    "tier",
    "gold_eligible",
    "gold_ineligibility_reasons",
    "checks",
    "stats",
}
FINDING_KEYS = {"code", "message", "file", "line", "pointer", "template_id", "case_id", "tool", "detail"}


def written(judged: Judged) -> bytes:
    return report(judged.pack, judged.config, judged.verdict)


def test_report_holds_exactly_the_keys_of_its_contract(tmp_path: Path) -> None:
    judged = judge(tmp_path, put("validation_cases.yaml", (1, "expect", "error_code"), "gone"))
    said = json.loads(written(judged))
    assert said.keys() == KEYS
    assert (said["report_version"], said["oracle_kind"], said["worker"]) == ("1.0", "python", "process")
    assert (said["pack_id"], said["version"], said["pack_fingerprint"]) == (
        "kiln_studio",
        "1.0",
        judged.pack.fingerprint,
    )
    assert (said["tier"], said["gold_eligible"]) == ("silver", False)
    assert said["gold_ineligibility_reasons"] == ["5: error_code_mismatch"]
    assert [check["id"] for check in said["checks"]] == [*"1234567", "M1", "D1", "D2", "T1", "I1"]
    for check in said["checks"]:
        assert check.keys() == {"id", "name", "status", "skipped_because", "failures", "warnings"}
        assert all(finding.keys() == FINDING_KEYS for finding in (*check["failures"], *check["warnings"]))
    assert said["checks"][4]["failures"] == [
        {
            "code": "error_code_mismatch",
            "message": 'error code is "not_found"; expected "gone"',
            "file": "validation_cases.yaml",
            "line": 13,
            "pointer": "/1/expect/error_code",
            "template_id": None,
            "case_id": "kiln_missing",
            "tool": "get_kiln",
            "detail": None,
        }
    ]


def test_report_counts_what_the_pack_holds(tmp_path: Path) -> None:
    assert json.loads(written(judge(tmp_path, templates=ALL_POLICIES)))["stats"] == {
        "tools": 3,
        "templates": 10,
        "templates_by_policy": {
            "clarify_only": 1,
            "confirmation": 1,
            "correction": 2,
            "dependent_call": 1,
            "irrelevant": 1,
            "missing_slot": 1,
            "multi_tool": 1,
            "negative_path": 1,
            "single_turn": 1,
        },
        "templates_by_category": {"firings": 2, "kilns": 7, "out_of_scope": 1},
        "fixture_rows": {"firings": 4, "kilns": 3},
        "cases": {"success": 4, "negative": 6},
        "assertions": 7,
        "languages": ["en"],
        "held_out_rows": 0,
        "held_out_templates": 0,
    }


def test_report_counts_what_is_held_out(tmp_path: Path) -> None:
    policy = "version: '1.0'\nfixtures: {kilns: [K-1, K-3], firings: [F-10]}\ntemplates: [kiln_status]\n"
    edits = [put("manifest.yaml", ("held_out",), "held_out.yaml"), text("held_out.yaml", policy)]
    stats = json.loads(written(judge(tmp_path, *edits)))["stats"]
    assert (stats["held_out_rows"], stats["held_out_templates"]) == (3, 1)


def test_report_has_these_bytes(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    check = CheckResult(
        id="5",
        name="declared_validation_cases",
        status="fail",
        failures=(Finding(code="state_changed", message="đổi", line=4, case_id="c", fix="not for the report"),),
    )
    verdict = PackVerdict(
        tier="silver", reasons=("5: state_changed",), checks=(check,), exported_assertions=("assert_x",)
    )
    pack = dataclasses.replace(judged.pack, fingerprint=Digest("sha256:" + "0" * 64))
    data = report(pack, judged.config, verdict)
    said = json.loads(data)
    assert json.dumps(said, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n" == data
    assert said["checks"][0]["failures"][0] == {
        "code": "state_changed",
        "message": "đổi",
        "file": None,
        "line": 4,
        "pointer": None,
        "template_id": None,
        "case_id": "c",
        "tool": None,
        "detail": None,
    }
    assert sha256_of(data) == "sha256:310c79349a3f4c781d2a9b7bdbc0cb06a8e27aa1435c097c3032f34845a51436"


def test_report_of_a_moved_pack_has_the_same_bytes_and_no_path(tmp_path: Path) -> None:
    fault = put_template("kiln_status", ("turn_policy",), "chat")
    one, other = written(judge(tmp_path / "one", fault)), written(judge(tmp_path / "other place", fault))
    assert one == other
    assert str(tmp_path).encode() not in one


@pytest.mark.parametrize(
    "edit",
    [
        {"oracle_runtime__clock": "2026-03-02T09:00:01+07:00"},
        {"oracle_runtime__worker": "thread"},
        {"oracle_runtime__tool_timeout_s": 4.0},
        {"oracle_runtime__assertion_timeout_s": 4.0},
        {"oracle_runtime__import_timeout_s": 4.0},
        {"oracle_runtime__reset_timeout_s": 4.0},
        {"oracle_runtime__episode_timeout_s": 4.0},
        {"random_seed": 8},
        {"task_generation__tasks_per_category": 13},
        {"surface_generation__prevent_tool_name_leakage": False},
        {"lineage__policy": "smoke_no_publication"},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_config_fingerprint_moves_with_what_validation_reads(tmp_path: Path, edit: dict[str, object]) -> None:
    assert config_fingerprint(run_config(tmp_path, **edit)) != config_fingerprint(run_config(tmp_path))


@pytest.mark.parametrize(
    "edit",
    [
        {"expt_name": "another"},
        {"output_dir": Path("/elsewhere")},
        {"stage": "prepare"},
        {"oracle_runtime__tool_timeout_s": 5},
        {"exports__bfcl_json": True},
    ],
    ids=lambda edit: next(iter(edit)),
)
def test_config_fingerprint_ignores_what_validation_does_not_read(tmp_path: Path, edit: dict[str, object]) -> None:
    assert config_fingerprint(run_config(tmp_path, **edit)) == config_fingerprint(run_config(tmp_path))


def test_config_fingerprint_is_this_digest(tmp_path: Path) -> None:
    assert (
        config_fingerprint(run_config(tmp_path))
        == "sha256:68b20f8e86267d0cdd189a152d04eb2843e7dac4018996d65dd1acc160d2cbbb"
    )


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (
            Finding(code="some_code", message="seen; expected", file="tools.json", line=3, tool="get_kiln"),
            "packs/p/tools.json:3: some_code: seen; expected",
        ),
        (
            Finding(code="some_code", message="seen", file="task_templates.yaml", line=3, template_id="t", fix="mend"),
            "packs/p/task_templates.yaml:3: some_code: t: seen\n  fix: mend",
        ),
        (
            Finding(code="some_code", message="seen", file="declared/backend", case_id="c"),
            "declared/backend: some_code: c: seen",
        ),
        (Finding(code="some_code", message="seen", template_id="t"), "some_code: t: seen"),
        (Finding(code="some_code", message="seen", case_id="c"), "some_code: c: seen"),
        (Finding(code="some_code", message="seen", tool="get_kiln"), "some_code: get_kiln: seen"),
        (Finding(code="some_code", message="seen"), "some_code: seen"),
    ],
)
def test_as_problem_says_where_and_about_what(finding: Finding, expected: str) -> None:
    assert str(as_problem(finding, root="packs/p")) == expected
