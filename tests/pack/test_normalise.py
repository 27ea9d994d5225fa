from __future__ import annotations

import json
from pathlib import Path

import yaml

from bfcl.located import parse_yaml
from bfcl.pack.load import load_pack
from bfcl.pack.normalise import normalised
from tests.pack.conftest import Load
from tests.pack.templates_back import template_from_json
from tests.packs import ALL_POLICIES, CASES, FIXTURES, put, put_template, run_config, write_pack


def test_copies_are_named_as_the_contract_says(load: Load) -> None:
    assert sorted(normalised(load())) == [
        "fixtures_normalized.json",
        "pack_manifest.json",
        "pack_paths.json",
        "task_templates_normalized.yaml",
        "tools_normalized.json",
        "tools_normalized_internal.json",
        "validation_cases_normalized.yaml",
    ]


def test_copies_hold_no_absolute_path_and_do_not_depend_on_the_place(tmp_path: Path) -> None:
    packs = [write_pack(tmp_path / name / "pack", templates=ALL_POLICIES) for name in ("here", "there")]
    copies = [normalised(load_pack(run_config(pack), project=tmp_path)) for pack in packs]
    assert copies[0] == copies[1]
    assert all(str(tmp_path).encode() not in data for data in copies[0].values())


def test_templates_copy_reads_back_as_the_records(load: Load) -> None:
    pack = load(templates=ALL_POLICIES)
    data = normalised(pack)["task_templates_normalized.yaml"]
    values = parse_yaml(data, path="x", code="x").value
    assert values == yaml.safe_load(data)
    assert tuple(template_from_json(value) for value in values) == pack.templates  # type: ignore[arg-type, union-attr]


def test_model_facing_copy_holds_no_extension_key(load: Load) -> None:
    copies = normalised(load())
    assert b"x-" not in copies["tools_normalized.json"]
    assert [tool["x-mutates"] for tool in json.loads(copies["tools_normalized_internal.json"])] == [False, False, True]


def test_fixtures_copy_names_the_primary_keys_of_used_collections(load: Load) -> None:
    copy = json.loads(normalised(load())["fixtures_normalized.json"])
    assert copy == {"fixtures": FIXTURES, "primary_keys": {"firings": "firing_id", "kilns": "kiln_id"}}


def test_fixtures_copy_leaves_out_what_check_2_will_refuse(load: Load) -> None:
    pack = load(
        put("manifest.yaml", ("primary_keys",), {}),
        put_template("kiln_status", ("slots", "kiln_id", "source"), "nowhere:x"),
        put_template("start_confirmed", ("slots", "kiln_id", "source"), "ovens.oven_id"),
    )
    assert json.loads(normalised(pack)["fixtures_normalized.json"])["primary_keys"] == {"kilns": "kiln_id"}


def test_cases_copy_fills_in_defaults(load: Load) -> None:
    copy = json.loads(normalised(load())["validation_cases_normalized.yaml"])
    assert [case["id"] for case in copy] == [case["id"] for case in CASES]
    assert copy[0] == {
        "id": "kiln_found",
        "tool": "get_kiln",
        "arguments": {"kiln_id": "K-1"},
        "reset_before": True,
        "expect": {"result_class": "success"},
        "coverage": None,
    }


def test_manifest_copy_holds_defaults_and_own_metadata(load: Load) -> None:
    copy = json.loads(normalised(load(put("manifest.yaml", ("x-fee",), 3)))["pack_manifest.json"])
    assert copy["x-fee"] == 3
    assert copy["version"] == "1.0"
    assert copy["confirmation"]["parameter"] == "confirm"
    assert copy["surface_guards"] == {"tool_names_exempt": []}
