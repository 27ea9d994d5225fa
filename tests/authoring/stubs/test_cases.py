"""New cases: the probes a tool needs, with arguments that do what the case says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.stubs.cases import new_cases
from bfcl.canonical import Json
from bfcl.errors import ConfigError
from bfcl.pack.model import Pack
from bfcl.pack.own_config import load_own
from tests.packs import Edit, drop, put, write_pack

ROW = {"kiln_id": {"type": "string"}}


def load(tmp_path: Path, *edits: Edit) -> Pack:
    return load_own(write_pack(tmp_path / "pack", *edits)).pack


def set_kiln(properties: dict[str, Any], **flags: bool) -> Edit:
    """A tool that changes a kiln, every parameter required."""
    parameters = {
        "type": "object",
        "properties": {**ROW, **properties},
        "required": ["kiln_id", *properties],
        "additionalProperties": False,
    }
    function = {"name": "set_kiln", "description": "Change a kiln.", "parameters": parameters}
    return put("tools.json", ("-",), {"type": "function", "function": function, "x-mutates": True, **flags})


def success(pack: Pack, tool: str = "set_kiln") -> Json:
    return new_cases(pack, tool)[0]["arguments"]


def test_reading_tool_gets_a_success_an_unknown_id_and_a_wrong_type(tmp_path: Path) -> None:
    refused = {"result_class": "structured_error", "state_unchanged": True}
    assert new_cases(load(tmp_path), "get_kiln") == [
        {
            "id": "get_kiln_success",
            "tool": "get_kiln",
            "arguments": {"kiln_id": "K-1"},
            "expect": {"result_class": "success"},
        },
        {"id": "get_kiln_unknown", "tool": "get_kiln", "arguments": {"kiln_id": "K-90"}, "expect": refused},
        {"id": "get_kiln_wrong_type", "tool": "get_kiln", "arguments": {"kiln_id": 7}, "expect": refused},
    ]


def test_gated_tool_gets_a_pending_case_and_is_confirmed_in_the_others(tmp_path: Path) -> None:
    found = new_cases(load(tmp_path), "start_firing")
    confirmed = [(case["id"], case["arguments"]["confirm"]) for case in found if isinstance(case["arguments"], dict)]
    assert confirmed == [
        ("start_firing_success", True),
        ("start_firing_pending", False),
        ("start_firing_unknown", True),
        ("start_firing_wrong_type", True),
    ]
    assert found[1]["expect"] == {"result_class": "awaiting_confirmation", "state_unchanged": True}


def test_collection_without_absent_ids_gets_no_unknown_case(tmp_path: Path) -> None:
    found = new_cases(load(tmp_path, drop("manifest.yaml", ["absent_ids"])), "get_kiln")
    assert [case["id"] for case in found] == ["get_kiln_success", "get_kiln_wrong_type"]


def test_ids_are_new_in_the_pack(tmp_path: Path) -> None:
    pack = load(tmp_path, put("validation_cases.yaml", (0, "id"), "get_kiln_success"))
    assert new_cases(pack, "get_kiln")[0]["id"] == "get_kiln_success_2"


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        # The first kiln is idle already.
        ({"status": {"type": "string", "enum": ["idle", "busy"]}}, {"kiln_id": "K-1", "status": "busy"}),
        ({"status": {"type": "string", "enum": ["busy", "idle"]}}, {"kiln_id": "K-1", "status": "busy"}),
        # All that can be asked for is what the first two are, so it is the third that changes.
        ({"status": {"type": "string", "enum": ["idle"]}}, {"kiln_id": "K-3", "status": "idle"}),
        ({"zone": {"type": "string"}}, {"kiln_id": "K-1", "zone": "south"}),
        # No field of a kiln has this name.
        ({"mode": {"type": "string", "enum": ["slow", "fast"]}}, {"kiln_id": "K-1", "mode": "slow"}),
    ],
)
def test_success_of_a_tool_that_changes_a_row_changes_it(
    tmp_path: Path, properties: dict[str, Any], arguments: dict[str, Json]
) -> None:
    assert success(load(tmp_path, set_kiln(properties))) == arguments


def test_flag_is_set_to_what_the_row_does_not_hold(tmp_path: Path) -> None:
    rows = [{"kiln_id": "K-1", "open": True}, {"kiln_id": "K-2", "open": True}]
    edits = (set_kiln({"open": {"type": "boolean"}}), put("fixtures.json", ("kilns",), rows))
    assert success(load(tmp_path, *edits)) == {"kiln_id": "K-1", "open": False}


def test_link_to_another_row_is_kept(tmp_path: Path) -> None:
    rows = [{"kiln_id": "K-1", "owner_id": "G-1"}, {"kiln_id": "K-2", "owner_id": "G-2"}]
    edits = (set_kiln({"owner_id": {"type": "string"}}), put("fixtures.json", ("kilns",), rows))
    assert success(load(tmp_path, *edits)) == {"kiln_id": "K-1", "owner_id": "G-1"}


def test_tool_that_only_reads_is_asked_for_the_first_values(tmp_path: Path) -> None:
    edit = set_kiln({"status": {"type": "string", "enum": ["idle", "busy"]}}, **{"x-mutates": False})
    assert success(load(tmp_path, edit)) == {"kiln_id": "K-1", "status": "idle"}


def test_unknown_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        new_cases(load(tmp_path), "get_klin")
    assert str(caught.value) == (
        "stub_impossible: case: the catalog has no tool `get_klin`\n  fix: did you mean `get_kiln`?"
    )
