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
from tests.packs import ALL_POLICIES, Edit, append, put, replace, run_config, write_pack

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
    judged = judge_for_real(write_pack(tmp_path / "pack", templates=ALL_POLICIES))
    assert judged.failures() == []
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
