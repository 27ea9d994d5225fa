"""One call in the real worker: class of the answer, change of the state, the case that expects it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.calling import Answered, Asked, call, check_case_id, document, doubts, recorded_case
from bfcl.authoring.workbench import workbench
from bfcl.authoring.yaml_text import yaml_text
from bfcl.checks.validate import validate_pack
from bfcl.errors import ConfigError
from bfcl.located import parse_yaml
from tests.packs import Edit, add_case, replace, write_pack

START = {"kiln_id": "K-1", "cone": 6, "confirm": True}


def answered(tmp_path: Path, asked: Asked, *edits: Edit) -> Answered:
    with workbench(write_pack(tmp_path / "pack", *edits), jobs=1) as bench:
        return call(bench, asked)


def test_success_names_every_change_of_the_state(tmp_path: Path) -> None:
    found = answered(tmp_path, Asked(tool="start_firing", arguments=START))
    assert found.result_class == "success"
    assert [(change.path, change.left, change.right) for change in found.changes] == [
        ('firings["F-14"]', "nothing", '{"cone":6,"firing_id":"F-14","kiln_id":"K-1","outcome":null}'),
        ('kilns["K-1"].recent_firings[0]', '"F-11"', '"F-14"'),
        ('kilns["K-1"].recent_firings[1]', "nothing", '"F-11"'),
        ('kilns["K-1"].status', '"idle"', '"busy"'),
        ("next_firing", "14", "15"),
    ]


@pytest.mark.parametrize(
    ("arguments", "result_class"),
    [({**START, "confirm": False}, "awaiting_confirmation"), ({**START, "kiln_id": "K-90"}, "structured_error")],
)
def test_refusal_leaves_the_state_alone(tmp_path: Path, arguments: dict[str, object], result_class: str) -> None:
    found = answered(tmp_path, Asked(tool="start_firing", arguments=arguments))  # type: ignore[arg-type]
    assert (found.result_class, found.changes) == (result_class, ())


def test_call_after_a_case_continues_its_whole_chain(tmp_path: Path) -> None:
    again = Asked(tool="start_firing", arguments=START, after="kiln_after_start")
    found = answered(tmp_path, again)
    assert found.result == {"error": {"code": "kiln_busy", "entity": "kiln", "id": "K-1"}}


def test_unknown_case_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        answered(tmp_path, Asked(tool="get_kiln", arguments={}, after="kiln_fond"))
    assert str(caught.value) == (
        "unknown_validation_case: kiln_fond: the pack has no such validation case; it has 10\n"
        "  fix: did you mean `kiln_found`?"
    )


def test_arguments_the_schema_refuses_are_told_and_still_sent(tmp_path: Path) -> None:
    found = answered(tmp_path, Asked(tool="get_kiln", arguments={"kiln_id": 7}))
    assert [failure.pointer for failure in found.schema_failures] == ["/kiln_id"]
    assert found.result_class == "structured_error"


def test_tool_outside_the_catalog_is_called_and_told(tmp_path: Path) -> None:
    found = answered(tmp_path, Asked(tool="melt_kiln", arguments={}))
    assert (found.in_catalog, found.result_class) == (False, "structured_error")


def test_call_that_breaks_says_how_and_where(tmp_path: Path) -> None:
    broken = replace("backend.py", "def _get_kiln(kiln_id):", "def _get_kiln(kiln):")
    found = answered(tmp_path, Asked(tool="get_kiln", arguments={"kiln_id": "K-1"}), broken)
    assert found.breakdown is not None
    assert (found.result, found.breakdown.code, found.breakdown.phase) == (None, "tool_raised", "call")
    told = document(found)
    assert isinstance(told, dict)
    assert told["status"] == "blocked"


def test_recorded_case_passes_as_it_is(tmp_path: Path) -> None:
    case = recorded_case(answered(tmp_path, Asked(tool="start_firing", arguments=START)), "recorded")
    read = parse_yaml(yaml_text([case]).encode(), path="x", code="y").value
    assert read == [case]
    with workbench(write_pack(tmp_path / "pack", add_case(**case)), jobs=1) as bench:
        verdict = validate_pack(bench.pack, bench.config, bench.oracle)
    assert next(check for check in verdict.checks if check.id == "5").failures == ()


def test_recorded_case_after_another_continues_it(tmp_path: Path) -> None:
    asked = Asked(tool="get_kiln", arguments={"kiln_id": "K-1"}, after="start_done")
    case = recorded_case(answered(tmp_path, asked), "later")
    assert case["reset_before"] is False
    assert case["expect"]["state_unchanged"] is True  # type: ignore[index,call-overload]


@pytest.mark.parametrize("error", ["{}", '{"code": None}', '{"code": 404}', '{"code": " "}'])
def test_recorded_error_without_a_code_names_none_and_loads(tmp_path: Path, error: str) -> None:
    odd = replace("backend.py", "def _get_kiln(kiln_id):", f"def _get_kiln(kiln_id):\n    return {{'error': {error}}}")
    found = answered(tmp_path, Asked(tool="get_kiln", arguments={"kiln_id": "K-1"}), odd)
    case = recorded_case(found, "odd")
    assert case["expect"] == {"result_class": "structured_error", "state_unchanged": True}
    assert [str(doubt) for doubt in doubts(found)] == [
        "error_code_missing: the error has no `code` that is text, so the case names none\n"
        "  fix: give the error a code, then record again"
    ]
    with workbench(write_pack(tmp_path / "pack", odd, add_case(**case)), jobs=1) as bench:
        assert bench.pack.cases[-1].id == "odd"


def test_recorded_success_that_the_schema_refuses_is_doubted(tmp_path: Path) -> None:
    lenient = replace("backend.py", "def _get_kiln(kiln_id):", "def _get_kiln(kiln_id):\n    return {'kiln': kiln_id}")
    found = answered(tmp_path, Asked(tool="get_kiln", arguments={"kiln_id": 7}), lenient)
    [doubt] = doubts(found)
    assert doubt.code == "successful_validation_case_schema_mismatch"
    assert doubt.message.startswith("the tool succeeded with arguments that its schema refuses: `/kiln_id`: ")


def test_recorded_call_of_a_tool_outside_the_catalog_is_doubted(tmp_path: Path) -> None:
    [doubt] = doubts(answered(tmp_path, Asked(tool="get_klin", arguments={})))
    assert str(doubt) == (
        "unknown_tool: the catalog has no tool `get_klin`, so no check accepts a case of it\n"
        "  fix: did you mean `get_kiln`?"
    )


def test_good_call_is_not_doubted(tmp_path: Path) -> None:
    assert doubts(answered(tmp_path, Asked(tool="get_kiln", arguments={"kiln_id": 7}))) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is blank; expected the id of a new case"),
        (" \t", "is blank; expected the id of a new case"),
        ("kiln_found", "the pack has a validation case `kiln_found` already"),
    ],
)
def test_name_that_no_new_case_can_have_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with workbench(write_pack(tmp_path / "pack"), jobs=1) as bench, pytest.raises(ConfigError) as caught:
        check_case_id(bench, name)
    assert str(caught.value) == f"call_record_invalid: --record: {message}\n  fix: choose another name"
