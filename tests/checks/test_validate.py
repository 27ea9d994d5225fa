"""Order of the checks, what is skipped when, and trouble with the oracle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.checks.report import report
from bfcl.checks.validate import CHECKS, validate_pack
from bfcl.errors import OracleError, PackError, Problem
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, Replayed
from tests.checks.judged import judge
from tests.checks.plain_oracle import PlainOracle
from tests.packs import Draft, Edit, append, drop, drop_template, put, put_template

NAMES = [
    ("1", "template_tool_names"),
    ("2", "template_slot_sources"),
    ("3", "backend_schema_alignment"),
    ("4", "assertions_importable"),
    ("5", "declared_validation_cases"),
    ("6", "confirmation_policy"),
    ("7", "representative_generation_contract"),
    ("M1", "mutation_declaration"),
    ("D1", "determinism"),
    ("D2", "error_shape"),
    ("T1", "timeout_enforcement"),
    ("I1", "isolation"),
]

FAULT_OF_1 = put_template("kiln_status", ("turn_policy",), "chat")
FAULT_OF_2 = put_template("out_of_scope", ("slots", "topic", "source"), "literal:[]")
FAULT_OF_3 = put("tools.json", (1, "function", "parameters", "format"), "x")
FAULT_OF_4 = put_template("start_confirmed", ("success_assertions",), ["assert_nothing"])
FAULT_OF_5 = put("validation_cases.yaml", (1, "expect", "error_code"), "gone")


def test_validate_pack_reports_every_check_in_the_order_of_the_table(tmp_path: Path) -> None:
    checks = judge(tmp_path).verdict.checks
    assert [(check.id, check.name) for check in checks] == NAMES
    assert [(check.id, check.name) for check in CHECKS] == NAMES
    assert {check.status for check in checks} == {"pass"}


@pytest.mark.parametrize(
    ("edits", "skipped"),
    [
        ([FAULT_OF_1], {"7": "check 1 did not pass"}),
        ([FAULT_OF_2], {"7": "check 2 did not pass"}),
        (
            [FAULT_OF_3],
            {
                **dict.fromkeys(("5", "6", "7", "M1"), "check 3 did not pass"),
                **dict.fromkeys(("D1", "D2"), "check 5 did not run"),
            },
        ),
        ([FAULT_OF_4], {"7": "check 4 did not pass"}),
        ([FAULT_OF_5], {}),
        ([FAULT_OF_1, FAULT_OF_2, FAULT_OF_4], {"7": "checks 1, 2, 4 did not pass"}),
    ],
)
def test_validate_pack_skips_a_check_whose_needs_did_not_pass(
    tmp_path: Path, edits: list[Edit], skipped: dict[str, str]
) -> None:
    checks = judge(tmp_path, *edits).verdict.checks
    assert {check.id: check.skipped_because for check in checks if check.status == "skipped"} == skipped
    assert all(check.failures == () for check in checks if check.status == "skipped")


def test_validate_pack_reports_the_faults_of_several_files_at_once(tmp_path: Path) -> None:
    edits = [FAULT_OF_1, FAULT_OF_2, FAULT_OF_4, FAULT_OF_5, drop_template("kiln_and_firing", ("success_assertions",))]
    judged = judge(tmp_path, *edits, oracle_runtime__worker="thread")
    found = [(check.id, one.code, one.template_id) for check in judged.verdict.checks for one in check.failures]
    assert found == [
        ("1", "unknown_turn_policy", "kiln_status"),
        ("2", "slot_source_malformed", "out_of_scope"),
        ("4", "missing_assertion", "start_confirmed"),
        ("4", "template_without_success_assertion", "kiln_and_firing"),
        ("5", "error_code_mismatch", None),
        ("I1", "worker_not_process", None),
    ]


def test_validate_pack_reports_loading_warnings_under_the_check_of_their_file(tmp_path: Path) -> None:
    edits = [put("manifest.yaml", ("clock",), "2020-01-01T00:00:00+00:00"), drop_template("kiln_status", ("intent",))]
    warnings = [one for one in judge(tmp_path, *edits).warnings() if one.startswith("1 ")]
    assert warnings == [
        "1 pack/manifest.yaml:23: manifest_clock_differs: `clock` is `2020-01-01T00:00:00+00:00`, but the run uses "
        "`oracle_runtime.clock` `2026-03-02T09:00:00+07:00`\n"
        "  fix: make the two agree",
        "1 pack/task_templates.yaml:1: template_without_intent: template `kiln_status` has no `intent`, so its rows "
        "publish none\n"
        "  fix: add `intent`",
    ]


class _Unreachable(PlainOracle):
    def run(self, episodes: list[Episode]) -> list[EpisodeResult]:  # type: ignore[override]
        raise OracleError(Problem(code="worker_crashed", message="the world ended twice"))

    def replay(self, episodes: list[Episode]) -> list[Replayed]:  # type: ignore[override]
        raise OracleError(Problem(code="worker_crashed", message="the world ended twice"))


def test_an_oracle_that_runs_no_episode_fails_the_checks_that_needed_it(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    verdict = validate_pack(judged.pack, judged.config, _Unreachable(judged.pack, "2026-03-02T09:00:00+07:00"))
    assert {check.id: [one.code for one in check.failures] for check in verdict.checks if check.failures} == {
        check: ["worker_crashed"] for check in ("5", "6", "7", "M1", "D1", "D2")
    }
    assert verdict.tier == "silver"


class _Absent(PlainOracle):
    def describe(self) -> Description:
        raise OracleError(Problem(code="worker_start_failed", message="no interpreter comes up"))

    def replay(self, episodes: list[Episode]) -> list[Replayed]:  # type: ignore[override]
        raise OracleError(Problem(code="worker_start_failed", message="no interpreter comes up"))


def test_no_verdict_is_reached_where_no_interpreter_comes_up(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    with pytest.raises(OracleError) as caught:
        validate_pack(judged.pack, judged.config, _Absent(judged.pack, "2026-03-02T09:00:00+07:00"))
    assert [str(problem) for problem in caught.value.problems] == ["worker_start_failed: no interpreter comes up"]


def test_a_worker_thread_fails_isolation_and_keeps_no_deadline(tmp_path: Path) -> None:
    judged = judge(tmp_path, oracle_runtime__worker="thread")
    skipped = {check.id: check.skipped_because for check in judged.verdict.checks if check.status == "skipped"}
    assert skipped == {"T1": "`oracle_runtime.worker` is `thread`"}
    assert judged.failures() == [
        "I1 worker_not_process: `oracle_runtime.worker` is `thread`; only `process` isolates the oracle\n"
        "  fix: set `oracle_runtime.worker: process`, or leave it out"
    ]


def test_a_broken_assertions_module_does_not_keep_the_probes_from_running(tmp_path: Path) -> None:
    judged = judge(tmp_path, append("assertions.py", "1 / 0\n"), FAULT_OF_5)
    assert judged.statuses() == {
        "1": "pass",
        "2": "pass",
        "3": "pass",
        "4": "fail",
        "5": "fail",
        "6": "pass",
        "7": "skipped",
        "M1": "pass",
        "D1": "pass",
        "D2": "pass",
        "T1": "pass",
        "I1": "pass",
    }


def _pointers(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*at, key)
        yield from _pointers(child, (*at, key))


@pytest.mark.parametrize("name", ["manifest.yaml", "tools.json", "validation_cases.yaml", "task_templates.yaml"])
def test_whatever_is_left_out_of_a_pack_is_refused_or_judged_but_never_breaks_a_check(
    tmp_path: Path, name: str
) -> None:
    value = Draft(("kiln_corrected", "start_confirmed")).data[name]
    for number, pointer in enumerate(_pointers(value)):
        root = tmp_path / str(number)
        with contextlib.suppress(PackError):
            judged = judge(root, drop(name, pointer), templates=("kiln_corrected", "start_confirmed"))
            assert str(root).encode() not in report(judged.pack, judged.config, judged.verdict)
