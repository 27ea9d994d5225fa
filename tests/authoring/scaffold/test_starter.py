"""Files of a starter pack: complete, the same for the same order, and Gold as they stand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bfcl.authoring.scaffold.order import StarterOrder, read_order
from bfcl.authoring.scaffold.place import place_new
from bfcl.authoring.scaffold.starter import scalar, starter_files
from bfcl.authoring.scaffold.wording import SHIPPED, words_for
from bfcl.authoring.workbench import workbench
from bfcl.canonical import Json
from bfcl.checks.validate import validate_pack
from bfcl.digest import sha256_json, sha256_of
from bfcl.errors import PackError
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.located import parse_json, parse_yaml
from bfcl.pack.own_config import load_own
from bfcl.pack.schema_files import schema
from bfcl.records.verdict import PackVerdict

PLAIN = StarterOrder(pack_id="order_desk", transport="python", language="en", version="0.1.0", held_out=False)
NAMES = [
    "README.md",
    "assertions.py",
    "backend.py",
    "fixtures.json",
    "manifest.yaml",
    "task_templates.yaml",
    "tools.json",
    "validate.yaml",
    "validation_cases.yaml",
]


def order(**edits: Any) -> StarterOrder:
    return dataclasses.replace(PLAIN, **edits)


def content(files: dict[str, bytes], name: str) -> Any:
    parse = parse_json if name.endswith(".json") else parse_yaml
    return parse(files[name], path=name, code="pack_parse_error").value


def digest(files: dict[str, bytes]) -> str:
    tree: dict[str, Json] = {name: sha256_of(data) for name, data in files.items()}
    return sha256_json(tree)


def judged(root: Path) -> PackVerdict:
    with workbench(root) as bench:
        return validate_pack(bench.pack, bench.config, bench.oracle)


def told(verdict: PackVerdict) -> list[str]:
    """Every failure, warning and skipped check."""
    found = [f"{check.id}: {one.code}: {one.message}" for check in verdict.checks for one in check.failures]
    found += [f"{check.id}: {one.code}: {one.message}" for check in verdict.checks for one in check.warnings]
    return found + [f"{check.id}: {check.skipped_because}" for check in verdict.checks if check.status == "skipped"]


@pytest.mark.parametrize("held_out", [False, True], ids=["plain", "held_out"])
@pytest.mark.parametrize("language", [*SHIPPED, "pt-BR"])
def test_starter_pack_is_gold_unedited_and_nothing_is_said_against_it(
    tmp_path: Path, language: str, held_out: bool
) -> None:
    files = starter_files(order(language=language, held_out=held_out), "desk")
    verdict = judged(place_new(tmp_path / "desk", files))
    assert (verdict.tier, told(verdict)) == ("gold", [])


@pytest.mark.parametrize("word", ["no", "null", "true"])
def test_starter_pack_is_gold_under_names_that_yaml_takes_for_values(tmp_path: Path, word: str) -> None:
    flags = read_order(domain=word, transport="python", language=word, version=word, held_out=False)
    verdict = judged(place_new(tmp_path / word, starter_files(flags, word)))
    assert (verdict.tier, told(verdict)) == ("gold", [])


@pytest.mark.parametrize("name", ['de"sk: {x}', "кассa #1", "d" * 255, "a\nb"])
def test_starter_pack_is_gold_in_a_directory_of_any_name(tmp_path: Path, name: str) -> None:
    verdict = judged(place_new(tmp_path / name, starter_files(order(), name)))
    assert (verdict.tier, told(verdict)) == ("gold", [])


def test_starter_pack_stays_gold_after_it_is_moved(tmp_path: Path) -> None:
    place = place_new(tmp_path / "desk", starter_files(order(), "desk"))
    (tmp_path / "elsewhere").mkdir()
    moved = place.rename(tmp_path / "elsewhere" / "other")
    assert judged(moved).tier == "gold"


def test_files_of_a_plain_order() -> None:
    assert list(starter_files(order(), "desk")) == NAMES


def test_held_out_adds_its_file_its_key_and_its_row() -> None:
    plain, files = starter_files(order(), "desk"), starter_files(order(held_out=True), "desk")
    assert sorted(set(files) - set(plain)) == ["held_out.yaml"]
    assert content(files, "manifest.yaml") == {**content(plain, "manifest.yaml"), "held_out": "held_out.yaml"}
    assert [row["record_id"] for row in content(plain, "fixtures.json")["records"]] == ["REC-001"]
    assert [row["record_id"] for row in content(files, "fixtures.json")["records"]] == ["REC-001", "REC-HELD-OUT-1"]
    assert content(files, "held_out.yaml") == {
        "version": "1",
        "fixtures": {"records": ["REC-HELD-OUT-1"]},
        "templates": [],
        "policy": {"fixtures_in_backend_state": False, "seed": 7},
    }


def test_endpoint_transport_has_an_address_in_place_of_a_backend() -> None:
    files = starter_files(order(transport="endpoint"), "desk")
    assert list(files) == sorted({*NAMES, "endpoint_config.yaml"} - {"backend.py"})
    assert content(files, "manifest.yaml")["paths"] == {
        "tools": "tools.json",
        "endpoint": "endpoint_config.yaml",
        "fixtures": "fixtures.json",
        "templates": "task_templates.yaml",
        "assertions": "assertions.py",
        "validation_cases": "validation_cases.yaml",
    }
    assert content(files, "endpoint_config.yaml") == {
        "protocol_version": "bfcl-oracle-http-v1",
        "base_url": "https://oracle.invalid/order_desk",
        "expected": {
            "oracle_id": "order_desk",
            "oracle_version": "0.1.0",
            "content_digest": "sha256:" + 64 * "0",
        },
        "auth": {"bearer_token_env": "ORDER_DESK_ORACLE_TOKEN"},
        "max_request_bytes": 1048576,
        "max_response_bytes": 1048576,
    }


def test_manifest_says_what_was_ordered() -> None:
    manifest = content(starter_files(order(language="vi"), "desk"), "manifest.yaml")
    words = words_for("vi")
    assert manifest["system_prompt"] == "\n".join(words.system_prompt)
    turns = {key: {"vi": words.texts[key]} for key in ("ask_for_slot", "ask_confirm", "decline", "final_answer")}
    shown = ("pack_id", "version", "languages", "clock", "primary_keys", "absent_ids", "assistant_turn_templates")
    assert {key: manifest[key] for key in shown} == {
        "pack_id": "order_desk",
        "version": "0.1.0",
        "languages": ["vi"],
        "clock": "2026-01-01T00:00:00+00:00",
        "primary_keys": {"records": "record_id"},
        "absent_ids": {"records": ["REC-ABSENT-1"]},
        "assistant_turn_templates": turns,
    }


def test_run_configuration_publishes_beside_the_pack_and_calls_no_model() -> None:
    assert content(starter_files(order(), "desk"), "validate.yaml") == {
        "family": "bfcl",
        "expt_name": "bfcl_order_desk_starter",
        "output_dir": "../desk_output",
        "stage": "prepare",
        "random_seed": 7,
        "config_status": "resolved",
        "oracle_pack": {"manifest_path": "manifest.yaml"},
        "oracle_runtime": {
            "clock": "2026-01-01T00:00:00+00:00",
            "worker": "process",
            "allowed_roots": ["."],
            "tool_timeout_s": 5,
            "assertion_timeout_s": 5,
            "reset_timeout_s": 5,
            "import_timeout_s": 60,
            "episode_timeout_s": 60,
        },
        "lineage": {
            "policy": "smoke_no_publication",
            "roles": {name: {"enabled": False} for name in ("profile", "paraphrase", "surface_judge")},
        },
        "surface_generation": {"model_paraphrase_enabled": False},
        "surface_quality_validation": {"enabled": False},
        "semantic_deduplication_config": {"enabled": False},
        "exports": {"bfcl_json": False, "nemo_evaluator_bundle": False},
        "task_generation": {"tasks_per_category": 3},
    }


def test_schema_of_each_yaml_file_is_named_in_its_first_line() -> None:
    files = {
        **starter_files(order(held_out=True), "desk"),
        **starter_files(order(transport="endpoint"), "desk"),
    }
    firsts = {name: data.decode().splitlines()[0] for name, data in files.items() if name.endswith(".yaml")}
    held_out = starter_files(order(held_out=True), "desk")["held_out.yaml"].decode().splitlines()[0]
    lead = "# yaml-language-server: $schema=../.bfcl/schemas/"
    assert {**firsts, "held_out.yaml": held_out} == {
        "endpoint_config.yaml": f"{lead}endpoint_config.schema.json",
        "held_out.yaml": f"{lead}held_out.schema.json",
        "manifest.yaml": f"{lead}manifest.schema.json",
        "task_templates.yaml": f"{lead}task_templates.schema.json",
        "validate.yaml": f"{lead}run_config.schema.json",
        "validation_cases.yaml": f"{lead}validation_cases.schema.json",
    }


@pytest.mark.parametrize("transport", ["python", "endpoint"])
def test_editor_underlines_nothing_in_a_new_pack(transport: str) -> None:
    files = starter_files(order(transport=transport, held_out=True), "desk")
    for name in files.keys() - {"README.md", "assertions.py", "backend.py"}:
        described_by = "run_config" if name == "validate.yaml" else name.partition(".")[0]
        faults = Draft202012Validator(schema(described_by)).iter_errors(content(files, name))
        assert [fault.message for fault in faults] == [], name


@pytest.mark.parametrize("transport", ["python", "endpoint"])
@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_texts_are_filled_in_and_lines_fit(transport: str, language: str) -> None:
    for name, data in starter_files(order(transport=transport, language=language, held_out=True), "desk").items():
        text = data.decode()
        assert "<<" not in text, name
        assert text.endswith("\n"), name
        assert "BFCL-TODO" not in text, name
        assert "REPLACE_ME_" not in text, name
        # A table's row and a description cannot be broken.
        long = [
            line for line in text.splitlines() if len(line) > 120 and not line.lstrip().startswith(("|", '"', "- "))
        ]
        assert long == [], name


def test_files_written_in_english_for_another_language_say_so() -> None:
    files = starter_files(order(language="pt-BR"), "desk")
    saying = [name for name, data in files.items() if b"till English" in data]
    assert saying == ["README.md", "manifest.yaml", "task_templates.yaml"]
    assert not any(b"till English" in data for data in starter_files(order(language="de"), "desk").values())


def test_readme_names_every_file_of_its_pack() -> None:
    for edits in ({}, {"held_out": True}, {"transport": "endpoint"}):
        files = starter_files(order(**edits), "desk")
        readme = files["README.md"].decode()
        assert [name for name in files if f"| `{name}` |" not in readme] == []


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ({}, "sha256:a750520ea1587dfb0e4662680367ac0dd3a7a57ac32d69303f8a01cb8da0a1b8"),
        (
            {"held_out": True, "language": "vi"},
            "sha256:2a25a7564573c453778ef8553eefb307ba86ca137bc75fa0b644850e2c8dfc2c",
        ),
        ({"transport": "endpoint"}, "sha256:e4adfb0a3d21225eadd8b8f7f303ddfef9d7a87ea22a07710eafe3513a84ffdd"),
    ],
)
def test_same_order_makes_the_same_bytes(edits: dict[str, Any], expected: str) -> None:
    assert digest(starter_files(order(**edits), "desk")) == expected


def test_word_that_yaml_reads_as_something_else_is_quoted() -> None:
    assert [scalar(word) for word in ("desk", "No", "null", "pt-BR")] == ["desk", '"No"', '"null"', "pt-BR"]
    assert json.loads(scalar("No")) == "No"


def test_endpoint_starter_gets_a_verdict_that_names_the_endpoint_check(tmp_path: Path) -> None:
    loaded, pack = load_own(place_new(tmp_path / "desk", starter_files(order(transport="endpoint"), "desk")))
    with LazyOracle(pack, loaded.config, jobs=1) as oracle:
        verdict = validate_pack(pack, loaded.config, oracle)
    assert verdict.tier == "silver"
    failures = [f"{check.id}: {one.code}" for check in verdict.checks for one in check.failures]
    assert failures == ["A1: endpoint_attestation_missing"]


def test_tools_that_run_an_oracle_refuse_an_endpoint_starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = place_new(tmp_path / "desk", starter_files(order(transport="endpoint"), "desk"))
    with pytest.raises(PackError) as refused, workbench(place):
        pass
    assert str(refused.value) == (
        "desk/endpoint_config.yaml: unsupported_config_feature: the oracle of this pack is a service; this release "
        "runs Python oracles only\n  fix: write a `backend.py`"
    )


@pytest.mark.parametrize("directory", ["REPLACE_ME_desk", "BFCL-TODO", "x-BFCL-TODO REPLACE_ME_"])
def test_mark_in_the_name_of_the_directory_stays_out_of_the_files(tmp_path: Path, directory: str) -> None:
    files = starter_files(PLAIN, directory)
    assert content(files, "validate.yaml")["output_dir"] == "../order_desk_output"
    verdict = judged(place_new(tmp_path / directory, files))
    assert (verdict.tier, told(verdict)) == ("gold", [])
