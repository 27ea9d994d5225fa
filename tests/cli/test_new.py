"""`bfcl new`: stubs on stdout, or in the pack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl import files
from bfcl.authoring.workbench import workbench
from bfcl.checks.validate import validate_pack
from bfcl.located import parse_yaml
from tests.packs import ALL_POLICIES, write_pack

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pack(project: Path) -> Path:
    return write_pack(project / "pack", templates=ALL_POLICIES)


def test_new_template_prints_an_entry(bfcl: Run, pack: Path) -> None:
    status, out, err = bfcl("new", "template", "pack", "mine", "--policy", "irrelevant")
    assert (status, err) == (0, "")
    assert out == (
        "- template_id: mine\n"
        "  intent: mine\n"
        "  category: out_of_scope\n"
        "  difficulty: easy\n"
        "  turn_policy: irrelevant\n"
        "  slots:\n"
        "    request:\n"
        "      source: literal:[a weather forecast, a train ticket, a poem]\n"
        "      visible_in_first_turn: true\n"
        "  user_turn_templates:\n"
        "    en: Could you get me {request}?\n"
        "  assistant_milestones:\n"
        "    - type: decline\n"
        "      content_template:\n"
        "        en: I am sorry, I cannot help with that here.\n"
        "  success_assertions:\n"
        "    - assert_no_tool_called\n"
    )
    assert pack.is_dir()


def test_appended_stubs_leave_the_pack_gold(bfcl: Run, pack: Path) -> None:
    for arguments in (
        ("template", "pack", "new_unclear", "--policy", "clarify_only", "--append"),
        ("template", "pack", "new_single", "--append"),
        ("case", "pack", "get_kiln", "--append"),
        ("assertion", "pack", "assert_kiln_told", "--tool", "get_kiln", "--append"),
    ):
        status, out, err = bfcl("new", *arguments)
        assert (status, err) == (0, ""), arguments
        assert out.startswith("added to pack/")
    with workbench(pack) as bench:
        verdict = validate_pack(bench.pack, bench.config, bench.oracle)
    assert (verdict.tier, verdict.reasons) == ("gold", ())
    assert "assert_kiln_told" in verdict.exported_assertions


def test_appended_tool_is_in_the_catalog(bfcl: Run, pack: Path) -> None:
    added = ("--param", "kiln_id:string", "--param", "days:integer:optional", "--mutates", "--confirm", "--append")
    status, out, err = bfcl("new", "tool", "pack", "close_kiln", *added)
    assert (status, err) == (0, "")
    assert [line for line in out.splitlines() if not line.startswith("  fix: ")] == [
        "added to pack/tools.json",
        "still to be written:",
        "pack/tools.json:84: schema_without_implementation: the catalog declares `close_kiln`, which `list_tools()` "
        "does not name",
        "pack/tools.json:84: incomplete_validation_coverage: `close_kiln` has no success probe; expected at least one",
        "pack/tools.json:84: incomplete_validation_coverage: `close_kiln` has no negative probe; expected at least one",
        "to look at:",
        "pack/tools.json:84: tool_not_exercised: no template calls `close_kiln`, so no task will test it",
    ]
    entry = json.loads((pack / "tools.json").read_text())[-1]
    assert entry["function"]["parameters"]["required"] == ["kiln_id", "confirm"]
    assert entry["x-mutates"] is entry["x-requires-confirmation"] is True


def test_append_leaves_the_file_alone_where_the_pack_would_not_load(bfcl: Run, pack: Path) -> None:
    path = pack / "task_templates.yaml"
    before = path.read_bytes()
    status, out, err = bfcl("new", "template", "pack", "a/b", "--append")
    assert (status, out) == (1, "")
    assert err.startswith(
        "pack/task_templates.yaml: append_impossible: nothing was added: with it the pack would have the errors that "
        "follow\n"
    )
    assert "task_templates_invalid" in err
    assert path.read_bytes() == before


def test_new_case_prints_what_the_tool_needs(bfcl: Run, pack: Path) -> None:
    status, out, _ = bfcl("new", "case", str(pack), "start_firing")
    cases = parse_yaml(out.encode(), path="x", code="y").value
    assert status == 0
    assert isinstance(cases, list)
    assert [(case["id"], case["expect"]["result_class"]) for case in cases] == [
        ("start_firing_success", "success"),
        ("start_firing_pending", "awaiting_confirmation"),
        ("start_firing_unknown", "structured_error"),
        ("start_firing_wrong_type", "structured_error"),
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("tool", "pack", "get_kiln"), "stub_impossible: get_kiln: the catalog has a tool of this name already"),
        (
            ("tool", "pack", "a b"),
            "stub_impossible: a b: is no name for a tool; expected letters, digits, `_`, `-`, at ",
        ),
        (("tool", "pack", "x", "--param", "y:text"), "stub_impossible: --param: `y:text` is no parameter; expected "),
        (("case", "pack", "get_klin"), "stub_impossible: case: the catalog has no tool `get_klin`"),
        (("assertion", "pack", "kiln_told"), "stub_impossible: kiln_told: is no name for an assertion; expected an "),
        (("assertion", "pack", "assert_x", "--tool", "y"), "stub_impossible: assert_x: the catalog has no tool `y`"),
    ],
)
def test_new_refuses_what_makes_no_stub(bfcl: Run, pack: Path, arguments: tuple[str, ...], told: str) -> None:
    status, out, err = bfcl("new", *arguments)
    assert (status, out) == (1, "")
    assert err.startswith(told)
    assert pack.is_dir()


def test_new_tool_is_printed_as_it_would_stand_in_the_file(bfcl: Run, pack: Path) -> None:
    status, out, _ = bfcl("new", "tool", "pack", "close_kiln", "--param", "kiln_id:string", "--mutates")
    bfcl("new", "tool", "pack", "close_kiln", "--param", "kiln_id:string", "--mutates", "--append")
    indented = "".join(f"  {line}" for line in out.splitlines(keepends=True))
    assert status == 0
    assert (pack / "tools.json").read_text().rstrip().removesuffix("]").endswith(f"\n{indented}")


def test_append_grows_a_pack_of_a_service_that_has_an_error_already(bfcl: Run, project: Path) -> None:
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk", "--transport", "endpoint")
    before = (project / "desk" / "validation_cases.yaml").read_bytes()
    said = (0, "added to desk/validation_cases.yaml\n", "")
    assert bfcl("new", "case", "desk", "get_record", "--append") == said
    assert (project / "desk" / "validation_cases.yaml").read_bytes().startswith(before)


def test_stubs_appended_at_the_same_time_all_land(bfcl: Run, pack: Path) -> None:
    source = Path(files.__file__).parents[1]
    command = [sys.executable, "-m", "bfcl", "new", "case", "pack", "get_kiln", "--append"]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in running] == [0, 0, 0, 0]
    cases = parse_yaml((pack / "validation_cases.yaml").read_bytes(), path="x", code="y").value
    assert isinstance(cases, list)
    added = [case["id"] for case in cases[10:]]
    assert (len(added), len(set(added))) == (12, 12)
    assert bfcl("check", "pack")[0] == 0


def test_template_for_a_full_category_is_added_and_the_budget_it_needs_told(bfcl: Run, project: Path) -> None:
    bfcl("scaffold-oracle-pack", "--domain", "desk", "--target", "desk")
    status, out, err = bfcl("new", "template", "desk", "which", "--policy", "missing_slot", "--append")
    assert (status, err) == (0, "")
    line = (project / "desk" / "validate.yaml").read_text().split("task_generation:\n")[0].count("\n") + 2
    assert out == (
        "added to desk/task_templates.yaml\n"
        "still to be written:\n"
        f"desk/validate.yaml:{line}: category_budget_too_small: task_generation.tasks_per_category: category `records` "
        "has 4 templates, but its budget is 3 tasks\n"
        "  fix: set `task_generation.tasks_per_category` to at least 4\n"
    )
