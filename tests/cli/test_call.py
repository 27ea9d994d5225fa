"""`bfcl call`: the answer as text, JSON or a recorded case."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packs import replace, write_pack

Run = Callable[..., tuple[int, str, str]]
START = '{"kiln_id": "K-1", "cone": 6, "confirm": true}'


@pytest.fixture
def pack(project: Path) -> Path:
    return write_pack(project / "pack")


def test_call_prints_class_result_and_changes(bfcl: Run, pack: Path) -> None:
    status, out, err = bfcl("call", "pack", "start_firing", "--args", START, "--format", "text")
    assert (status, err) == (0, "")
    first, second, third, *changes = out.splitlines()
    assert first == 'start_firing(kiln_id="K-1", cone=6, confirm=true)'
    assert second == "  class     success"
    assert third.startswith('  result    {"')
    assert all(line.startswith("  state     ") and " -> " in line for line in changes)
    assert changes
    assert pack.is_dir()


def test_call_is_json_where_nobody_watches(bfcl: Run, pack: Path) -> None:
    status, out, _ = bfcl("call", "pack", "get_kiln", "--args", '{"kiln_id": "K-90"}')
    found = json.loads(out)
    assert (status, found["status"], found["result_class"], found["state_changes"]) == (
        0,
        "pass",
        "structured_error",
        [],
    )
    assert pack.is_dir()


def test_record_prints_a_case(bfcl: Run, pack: Path) -> None:
    status, out, _ = bfcl("call", "pack", "get_kiln", "--args", '{"kiln_id": "K-90"}', "--record", "gone")
    assert (status, out) == (
        0,
        "- id: gone\n"
        "  tool: get_kiln\n"
        "  arguments:\n"
        "    kiln_id: K-90\n"
        "  expect:\n"
        "    result_class: structured_error\n"
        "    error_code: not_found\n"
        "    state_unchanged: true\n",
    )
    assert pack.is_dir()


def test_call_that_breaks_ends_in_status_2(bfcl: Run, project: Path) -> None:
    write_pack(project / "pack", replace("backend.py", "def _get_kiln(kiln_id):", "def _get_kiln(kiln):"))
    arguments = ("call", "pack", "get_kiln", "--args", '{"kiln_id": "K-1"}', "--record", "x", "--format", "text")
    status, out, err = bfcl(*arguments)
    assert (status, err) == (2, "")
    assert "  broke     tool_raised: " in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "[1]",
            "call_arguments_invalid: --args: is [1]; expected one JSON object\n  fix: quote it for the shell, such as",
        ),
        ("{", "--args:1: call_arguments_invalid: not JSON: "),
    ],
)
def test_arguments_that_are_no_object_are_refused(bfcl: Run, pack: Path, arguments: str, told: str) -> None:
    status, out, err = bfcl("call", "pack", "get_kiln", "--args", arguments)
    assert (status, out) == (1, "")
    assert err.startswith(told)
    assert pack.is_dir()


def test_record_is_one_object_where_json_is_asked_for(bfcl: Run, pack: Path) -> None:
    asked = ("call", "pack", "get_kiln", "--args", '{"kiln_id": "K-90"}', "--record", "gone", "--format", "json")
    status, out, err = bfcl(*asked)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "id": "gone",
        "tool": "get_kiln",
        "arguments": {"kiln_id": "K-90"},
        "expect": {"result_class": "structured_error", "error_code": "not_found", "state_unchanged": True},
    }
    assert pack.is_dir()


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("get_klin", "`get_klin` is not in tools.json (did you mean `get_kiln`?)"),
        ("sing", "`sing` is not in tools.json"),
    ],
)
def test_tool_outside_the_catalog_is_told_with_the_closest(bfcl: Run, pack: Path, tool: str, told: str) -> None:
    _, out, _ = bfcl("call", "pack", tool, "--format", "text")
    assert out.splitlines()[1] == f"  warning   {told}"
    assert pack.is_dir()


def test_record_tells_on_stderr_what_stands_against_the_case(bfcl: Run, pack: Path) -> None:
    status, out, err = bfcl("call", "pack", "get_klin", "--record", "odd", "--format", "json")
    assert (status, json.loads(out)["id"]) == (0, "odd")
    assert err == (
        "warning: unknown_tool: the catalog has no tool `get_klin`, so no check accepts a case of it\n"
        "  fix: did you mean `get_kiln`?\n"
    )
    assert pack.is_dir()


def test_record_of_a_name_in_use_is_refused(bfcl: Run, pack: Path) -> None:
    status, out, err = bfcl("call", "pack", "get_kiln", "--record", "kiln_found")
    assert (status, out) == (1, "")
    assert err.startswith("call_record_invalid: --record: the pack has a validation case `kiln_found` already\n")
    assert pack.is_dir()
