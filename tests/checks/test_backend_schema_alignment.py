"""Check 3: backend and catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import Edit, append, drop, drop_template, put, replace, text

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "catalog declares what the backend does not name": (
        [replace("backend.py", '["get_kiln", "get_firing", "start_firing"]', '["get_kiln", "get_firing"]')],
        {},
        [
            (
                "3 pack/tools.json:45: schema_without_implementation: the catalog declares "
                "`start_firing`, which `list_tools()` does not name\n"
                "  fix: implement `start_firing`, or remove its entry"
            ),
        ],
    ),
    "backend names what the catalog does not declare": (
        [
            replace(
                "backend.py",
                '["get_kiln", "get_firing", "start_firing"]',
                '["get_kiln", "get_firing", "start_firing", "stop_firing"]',
            )
        ],
        {},
        [
            (
                "3 pack/backend.py:8: implementation_without_schema: `list_tools()` names `stop_firing`, "
                "which the catalog does not declare\n"
                "  fix: add a schema for `stop_firing`"
            ),
        ],
    ),
    "names differ by a slip": (
        [
            replace(
                "backend.py", '["get_kiln", "get_firing", "start_firing"]', '["get_klin", "get_firing", "start_firing"]'
            )
        ],
        {},
        [
            (
                "3 pack/tools.json:5: schema_without_implementation: the catalog declares `get_kiln`, "
                "which `list_tools()` does not name\n"
                "  fix: did you mean `get_klin`?"
            ),
            (
                "3 pack/backend.py:8: implementation_without_schema: `list_tools()` names `get_klin`, "
                "which the catalog does not declare\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "tool declares no parameters": (
        [drop("tools.json", (0, "function", "parameters"))],
        {},
        [
            (
                "3 pack/tools.json:4: missing_parameter_schema: `get_kiln` declares no parameters; "
                "expected an object schema\n"
                '  fix: add `"parameters": {"type": "object", "properties": {}, "additionalProperties": '
                "false}`"
            ),
        ],
    ),
    "schema uses an unsupported keyword": (
        [put("tools.json", (0, "function", "parameters", "properties", "kiln_id", "format"), "uuid")],
        {},
        [
            (
                "3 pack/tools.json:13: unsupported_parameter_schema: `get_kiln`: `format` is not part of "
                "the supported subset"
                "\n  fix: write the schema with the keywords that the pack's documentation lists"
            ),
        ],
    ),
    "schema is malformed inside a list": (
        [put("tools.json", (0, "function", "parameters", "allOf"), [{}, {"minimum": "x"}])],
        {},
        [
            (
                '3 pack/tools.json:22: unsupported_parameter_schema: `get_kiln`: `minimum` is "x"; expected a number'
                "\n  fix: write the schema with the keywords that the pack's documentation lists"
            ),
        ],
    ),
    "gated tool has no confirmation parameter": (
        [drop("tools.json", (2, "function", "parameters", "properties", "confirm"))],
        {},
        [
            (
                "3 pack/tools.json:49: confirmation_parameter_missing: `start_firing` requires "
                "confirmation but has no boolean parameter `confirm`\n"
                '  fix: declare `"confirm": {"type": "boolean"}`, or set `confirmation.parameter` in the '
                "manifest"
            ),
        ],
    ),
    "confirmation parameter is no boolean": (
        [put("tools.json", (2, "function", "parameters", "properties", "confirm"), {"type": ["boolean", "string"]})],
        {},
        [
            (
                "3 pack/tools.json:66: confirmation_parameter_missing: `start_firing` requires "
                "confirmation but has no boolean parameter `confirm`\n"
                '  fix: declare `"confirm": {"type": "boolean"}`, or set `confirmation.parameter` in the '
                "manifest"
            ),
        ],
    ),
    "confirmation parameter has another name": (
        [put("manifest.yaml", ("confirmation",), {"parameter": "agreed"})],
        {},
        [
            (
                "3 pack/tools.json:49: confirmation_parameter_missing: `start_firing` requires "
                "confirmation but has no boolean parameter `agreed`\n"
                '  fix: declare `"agreed": {"type": "boolean"}`, or set `confirmation.parameter` in the '
                "manifest"
            ),
        ],
    ),
    "backend does not import": (
        [append("backend.py", 'raise ValueError("boom")\n')],
        {},
        [
            (
                "3 pack/backend.py:79: backend_import_failed: ValueError: boom"
                "\n  fix: mend that line; only Python's own library and the pack's own files can be imported"
            ),
        ],
    ),
    "backend does not parse": (
        [text("backend.py", "def reset(:\n")],
        {},
        [
            (
                "3 pack/backend.py:1: backend_import_failed: SyntaxError: invalid syntax"
                "\n  fix: mend that line; only Python's own library and the pack's own files can be imported"
            ),
        ],
    ),
    "backend lacks a callable": (
        [replace("backend.py", "def get_state", "def read_state")],
        {},
        [
            (
                "3 pack/backend.py: missing_backend_callable: `get_state` is missing or cannot be called "
                "as `get_state()`\n"
                "  fix: define `def get_state():` at module level"
            ),
        ],
    ),
    "list_tools raises": (
        [replace("backend.py", '["get_kiln", "get_firing", "start_firing"]', "1 / 0")],
        {},
        [
            (
                "3 pack/backend.py:9: tool_raised: ZeroDivisionError: division by zero"
                '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
            ),
        ],
    ),
    "review markers are left": (
        [append("README.md", "BFCL-TODO: say more.\n"), append("backend.py", "\n# BFCL-TODO\n# BFCL-TODO: again\n")],
        {},
        [
            (
                "3 pack/README.md:4: review_marker_present: line 4 still holds `BFCL-TODO`\n"
                "  fix: review what the line says, then remove the marker"
            ),
            (
                "3 pack/backend.py:80: review_marker_present: line 80 still holds `BFCL-TODO`\n"
                "  fix: review what the line says, then remove the marker"
            ),
            (
                "3 pack/backend.py:81: review_marker_present: line 81 still holds `BFCL-TODO`\n"
                "  fix: review what the line says, then remove the marker"
            ),
        ],
    ),
}

WARNED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "helper hides a standard module": (
        [text("json.py", "x = 1\n")],
        {},
        [
            (
                "3 pack/json.py: module_shadowed: hides the standard module `json` from everything the "
                "pack imports\n"
                "  fix: rename the helper"
            ),
        ],
    ),
    "tool is never exercised": (
        [drop_template("kiln_and_firing")],
        {},
        [
            (
                "3 pack/tools.json:25: tool_not_exercised: no template calls `get_firing`, so no task "
                "will test it\n"
                "  fix: add a template that calls it"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_3_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


@pytest.mark.parametrize(("edits", "run", "expected"), WARNED.values(), ids=WARNED)
def test_check_3_warns_without_failing(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    judged = judge(tmp_path, *edits, **run)
    assert [one for one in judged.warnings() if "_assertion" not in one] == expected
    assert judged.statuses()["3"] == "pass"


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "boolean"},
        {"type": ["boolean"], "default": False},
        {"$ref": "#/$defs/yes"},
        {"allOf": [{"$ref": "#/$defs/yes"}]},
    ],
)
def test_check_3_takes_a_confirmation_parameter_as_calls_see_it(tmp_path: Path, declared: dict[str, object]) -> None:
    parameters = ("tools.json", (2, "function", "parameters"))
    definitions = put(parameters[0], (*parameters[1], "$defs"), {"yes": {"type": "boolean"}})
    judged = judge(tmp_path, definitions, put(parameters[0], (*parameters[1], "properties", "confirm"), declared))
    assert judged.failures() == []


def test_check_3_finds_review_markers_in_files_whose_names_are_composed_otherwise(tmp_path: Path) -> None:
    decomposed = "ghi chu\u0301.md"
    failures = judge(tmp_path, text(decomposed, "BFCL-TODO")).failures()
    assert failures == [
        "3 pack/ghi chú.md:1: review_marker_present: line 1 still holds `BFCL-TODO`\n"
        "  fix: review what the line says, then remove the marker"
    ]
