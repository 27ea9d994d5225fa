"""The checks over real worker processes: the bundled tiny pack, and packs that break in ways only workers show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bfcl.checks.report import report
from bfcl.checks.validate import validate_pack
from bfcl.oracle.view import lay_view, oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_pack
from tests.checks.judged import Judged
from tests.packs import ALL_POLICIES, ROW_LINKS, Edit, append, put, replace, run_config, write_pack

ROOT = Path(__file__).parents[2]
TINY = ROOT / "packs" / "tiny_oracle_pack"


def judge_for_real(root: Path, **config: object) -> Judged:
    run = run_config(root, **config)
    pack = load_pack(run, project=root.parent)
    with TemporaryDirectory() as view:
        lay_view(pack, Path(view).resolve())
        with LocalOracle(oracle_spec(pack, run, Path(view).resolve())) as oracle:
            return Judged(pack, run, validate_pack(pack, run, oracle))


@pytest.fixture(scope="module")
def tiny() -> Iterator[Judged]:
    return judge_for_real(
        TINY,
        oracle_runtime__clock="2026-03-02T09:00:00+00:00",
        task_generation__tasks_per_category=4,
        task_generation__candidate_tasks_per_category=4,
    )


def test_tiny_pack_is_gold_without_a_single_warning(tiny: Judged) -> None:
    assert (tiny.verdict.tier, tiny.verdict.reasons) == ("gold", ())
    assert tiny.failures() == []
    assert tiny.warnings() == []


def test_tiny_pack_has_what_its_contract_asks_for(tiny: Judged) -> None:
    stats = json.loads(report(tiny.pack, tiny.config, tiny.verdict))["stats"]
    assert stats["templates_by_policy"] == {"single_turn": 1, "confirmation": 1, "multi_tool": 1, "irrelevant": 1}
    assert (stats["tools"], len(stats["templates_by_category"]), stats["languages"]) == (2, 1, ["en"])
    assert stats["cases"]["success"] >= 2
    assert stats["cases"]["negative"] >= 4
    assert stats["assertions"] >= 4
    assert all(tool.parameters and tool.parameters["additionalProperties"] is False for tool in tiny.pack.tools)


def test_tiny_pack_readme_names_every_file(tiny: Judged) -> None:
    readme = (TINY / "README.md").read_text("utf-8")
    names = {logical.removeprefix("tree/") for logical in tiny.pack.entries} - {"README.md"}
    assert {name for name in names if f"`{name}`" not in readme} == set()


def test_every_policy_passes_in_worker_processes(tmp_path: Path) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", templates=(*ALL_POLICIES, *ROW_LINKS)))
    assert judged.failures() == []
    assert judged.warnings() == []
    assert judged.verdict.tier == "gold"


TELLS_WHO_ASKS = append(
    "backend.py",
    "\n\n_answer = call_tool\n\n\ndef call_tool(name, arguments, *, ctx):\n"
    '    return {**_answer(name, arguments, ctx=ctx), "asked_by": ctx.task_id}\n',
)


def test_every_probe_of_a_chain_is_asked_under_its_own_name(tmp_path: Path) -> None:
    names = {8: "probe__start_done", 9: "probe__kiln_after_start"}
    expected = [put("validation_cases.yaml", (index, "expect", "asked_by"), name) for index, name in names.items()]
    judged = judge_for_real(write_pack(tmp_path / "pack", TELLS_WHO_ASKS, *expected))
    assert judged.failures() == []


CASES: dict[str, tuple[list[Edit], list[tuple[str, str, str | None]]]] = {
    "backend does not import": (
        [append("backend.py", "1 / 0\n")],
        [("3", "backend_import_failed", "backend.py")],
    ),
    "assertions do not import": (
        [append("assertions.py", "1 / 0\n")],
        [("4", "assertions_import_failed", "assertions.py")],
    ),
    "backend lacks a callable": (
        [replace("backend.py", "def get_state", "def read_state")],
        [("3", "missing_backend_callable", "backend.py")],
    ),
    "assertion lacks keywords": (
        [append("assertions.py", "\n\ndef assert_odd(*, state):\n    pass\n")],
        [("4", "invalid_signature", "assertions.py")],
    ),
    "answers hang on the order of a set": (
        [
            replace(
                "backend.py",
                'return {"status": "started", "firing_id": firing_id}',
                'return {"status": "started", "firing_id": firing_id, "all": list({str(n) for n in range(99)})}',
            )
        ],
        [
            ("7", "nondeterministic_replay", "task_templates.yaml"),
            ("D1", "nondeterministic_result", "validation_cases.yaml"),
        ],
    ),
    "a probe of a chain raises": (
        [replace("backend.py", '    firing_id = "F-%d"', '    firing_id = 1 / 0 or "F-%d"')],
        [
            ("5", "tool_raised", "validation_cases.yaml"),
            ("5", "chain_aborted", "validation_cases.yaml"),
            ("6", "confirmation_unprobed", "tools.json"),
            ("7", "tool_raised", "backend.py"),
            ("M1", "declared_mutation_not_observed", "tools.json"),
            ("D1", "no_success_observation", "tools.json"),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "expected"), CASES.values(), ids=CASES)
def test_checks_tell_what_worker_processes_show(
    tmp_path: Path, edits: list[Edit], expected: list[tuple[str, str, str | None]]
) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", *edits))
    found = [(check.id, one.code, one.file) for check in judged.verdict.checks for one in check.failures]
    assert found == expected
    assert str(tmp_path).encode() not in report(judged.pack, judged.config, judged.verdict)


COPY = "    return copy.deepcopy(_STATE)"
ONCE: dict[str, tuple[Edit, list[str]]] = {
    "reset raises": (
        replace("backend.py", "    rows = copy", "    raise ValueError('no')\n    rows = copy"),
        [
            "5 pack/backend.py:13: reset_raised: `reset` broke instead of answering: ValueError: no (backend.py:13), "
            "in 10 probes: `kiln_found`, `kiln_missing`, `kiln_wrong_type` and 7 more\n  fix: mend that line",
            "7 pack/backend.py:13: reset_raised: kiln_status: `reset` broke instead of answering: ValueError: no "
            "(backend.py:13); 9 more templates meet it: `start_confirmed`, `kiln_and_firing`, `out_of_scope` and 6 "
            "more\n  fix: mend that line",
        ],
    ),
    "get_state returns a set": (
        replace("backend.py", COPY, "    return set(_STATE)"),
        [
            "5 pack/backend.py:19: state_not_serializable: `get_state` broke instead of answering: get_state returned "
            "set, expected a JSON object, in 10 probes: `kiln_found`, `kiln_missing`, `kiln_wrong_type` and 7 more\n"
            "  fix: return a dict of plain JSON values from `get_state`; write a set as a sorted list",
            "7 pack/backend.py:19: state_not_serializable: kiln_status: `get_state` broke instead of answering: "
            "get_state returned set, expected a JSON object; 9 more templates meet it: `start_confirmed`, "
            "`kiln_and_firing`, `out_of_scope` and 6 more\n"
            "  fix: return a dict of plain JSON values from `get_state`; write a set as a sorted list",
        ],
    ),
}


@pytest.mark.parametrize(("edit", "expected"), ONCE.values(), ids=ONCE)
def test_what_breaks_every_episode_is_told_once_a_check(tmp_path: Path, edit: Edit, expected: list[str]) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", edit, templates=ALL_POLICIES))
    assert [one for one in judged.failures() if one.startswith(("5 ", "7 "))] == expected
    unshown = [one for one in judged.failures() if one.startswith(("6 ", "D1"))]
    assert len(unshown) == 4
    assert all(one.endswith("\n  fix: mend what broke its probe, which check 5 tells") for one in unshown)


def test_reset_that_counts_is_told_by_d1_and_blames_no_template(tmp_path: Path) -> None:
    counting = replace("backend.py", "    rows = copy", '    _STATE["n"] = _STATE.get("n", 0) + 1\n    rows = copy')
    judged = judge_for_real(write_pack(tmp_path / "pack", counting, templates=ALL_POLICIES))
    assert judged.failures() == [
        "D1 pack/backend.py:12: nondeterministic_state: `reset` leaves another state when the same process played it "
        "again: `state.n` is 1 at first, 2 again\n  fix: let `reset` restore everything that calls change"
    ]
    assert judged.warnings() == []


def test_table_of_assertions_that_is_none_is_told_once_at_its_line(tmp_path: Path) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", append("assertions.py", "\n\nASSERTIONS = []\n")))
    assert judged.failures() == [
        "4 pack/assertions.py:61: invalid_signature: `ASSERTIONS` is of type list; expected a dictionary of name to "
        'function\n  fix: write `ASSERTIONS = {"assert_done": assert_done}`, or remove it: then every function named '
        "`assert_...` is exported"
    ]
    assert judged.verdict.exported_assertions == ()
