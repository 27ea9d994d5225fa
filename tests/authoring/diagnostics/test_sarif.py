from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from bfcl.authoring.catalogue import catalogue
from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.diagnostics.sarif import document
from bfcl.canonical import readable_json
from tests.authoring.diagnostics.samples import CHECKED, LINES

TEXT = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string"}},
}
MULTIFORMAT = {**TEXT, "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}}}
PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation"],
    "additionalProperties": False,
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "additionalProperties": False,
            "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~:/%!$&'()*+,;=@-]+$"}},
        },
        "region": {
            "type": "object",
            "required": ["startLine"],
            "additionalProperties": False,
            "properties": {
                "startLine": {"type": "integer", "minimum": 1},
                "startColumn": {"type": "integer", "minimum": 1},
            },
        },
    },
}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"message": TEXT, "physicalLocation": PHYSICAL},
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": MULTIFORMAT,
                                                "help": MULTIFORMAT,
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "relatedLocations": {"type": "array", "uniqueItems": True, "items": LOCATION},
                            },
                        },
                    },
                },
            },
        },
    },
}
"""The part of the published SARIF 2.1.0 structure that a log of ours may use, closed."""


def _log(checked: Checked) -> Any:
    return json.loads(readable_json(document(checked, catalogue())))


def test_sarif_log_has_the_published_structure() -> None:
    assert [error.message for error in Draft7Validator(SARIF).iter_errors(_log(CHECKED))] == []


def test_sarif_rules_carry_the_documentation_of_their_code() -> None:
    rules = {rule["id"]: rule for rule in _log(CHECKED)["runs"][0]["tool"]["driver"]["rules"]}
    assert list(rules) == ["category_budget_too_small", "odd", "unknown_tool"]
    assert rules["odd"] == {"id": "odd"}
    assert rules["unknown_tool"]["help"]["text"].endswith("\nFix: Correct the name")
    assert "**Fix:** Correct the name" in rules["unknown_tool"]["help"]["markdown"]


def test_sarif_results_point_at_their_rule_and_place() -> None:
    first, second, third = _log(CHECKED)["runs"][0]["results"]
    assert first == {
        "ruleId": "unknown_tool",
        "ruleIndex": 2,
        "level": "error",
        "message": {"text": "calls `get_kilm`, 100% wrong\nFix: did you mean `get_kiln`?"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "packs/my%20pack/a%2Cb%3Ac.yaml"},
                    "region": {"startLine": 3, "startColumn": 7},
                }
            }
        ],
        "relatedLocations": [
            {
                "message": {"text": "because of tools_catalog_invalid"},
                "physicalLocation": {
                    "artifactLocation": {"uri": "packs/my%20pack/tools.json"},
                    "region": {"startLine": 2},
                },
            }
        ],
    }
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "packs/%C3%A9.py"
    assert "locations" not in third


def test_sarif_names_a_file_elsewhere_by_its_whole_uri(tmp_path: Path) -> None:
    outside = dataclasses.replace(LINES, path="/some where/a.yaml")
    log = _log(Checked(pack="p", loads=True, diagnostics=(outside,)))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///some%20where/a.yaml"
