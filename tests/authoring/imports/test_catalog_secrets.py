"""Credentials stay out of a catalog, and each leaves a notice without its value."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.imports.catalog_secrets import without_credentials
from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.python_source import import_python
from tests.authoring.imports.keys import KEYS
from tests.authoring.imports.specs import imported

KEY = KEYS["an AWS access key"]
HOLDS = "holds an AWS access key"


def cleaned(schema: Any) -> tuple[Any, list[tuple[tuple[str, ...], str, str]]]:
    told: list[tuple[tuple[str, ...], str, str]] = []
    return without_credentials(schema, lambda *each: told.append(each)), told


@pytest.mark.parametrize(
    ("schema", "kept", "told"),
    [
        ({"type": "string", "default": KEY}, {"type": "string"}, [((), "default", f"`default` {HOLDS}")]),
        ({"type": "string", "enum": ["a", KEY]}, {"type": "string"}, [((), "enum", f"`enum` {HOLDS}")]),
        ({"description": f"Use {KEY}."}, {}, [((), "description", f"`description` {HOLDS}")]),
        ({"properties": {"x": {"items": {"examples": ["a", {"b": KEY}]}}}}, {"properties": {"x": {"items": {}}}},
         [(("x",), "examples", f"`examples` of `x` {HOLDS}")]),
        ({"allOf": [{"properties": {"x": {"const": KEY}}}]}, {"allOf": [{"properties": {"x": {}}}]},
         [(("x",), "const", f"`const` of `x` {HOLDS}")]),
        ({"properties": {"password": {"default": "hunter2"}}}, {"properties": {"password": {}}},
         [(("password",), "default", "`default` of `password` holds a value, and its name says credential")]),
        ({"default": {"password": "hunter2"}}, {},
         [((), "default", "`default` holds a value, and its name says credential")]),
        ({"properties": {"token": {"default": "", "description": "Your token.", "enum": ["a"]}}}, None, []),
        ({"properties": {"password": {"default": None, "examples": [3]}}}, None, []),
    ],
)  # fmt: skip
def test_keyword_that_holds_a_credential_is_left_out(schema: Any, kept: Any, told: Any) -> None:
    assert cleaned(schema) == (schema if kept is None else kept, told)


def test_openapi_import_reports_without_the_value() -> None:
    body = {"properties": {"secret": {"type": "string", "example": "hunter2"}}}
    operation = {
        "operationId": "look",
        "summary": f"Use {KEY}.",
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string", "default": KEY}}],
        "requestBody": {"content": {"application/json": {"schema": body}}},
    }
    catalog = imported({"/x": {"get": operation}})
    assert KEY not in str(catalog)
    assert "hunter2" not in str(catalog)
    assert [(each["pointer"], each["message"]) for each in catalog.report if each["action"] == "dropped"] == [
        ("/paths/~1x/get", f"`default` of `q` {HOLDS}"),
        ("/paths/~1x/get", f"`description` {HOLDS}"),
        ("/paths/~1x/get", "`examples` of `secret` holds a value, and its name says credential"),
    ]


def test_python_import_reports_without_the_value() -> None:
    source = f"""
import os
def look(q: str = "{KEY}", password: str = "hunter2", home: str = os.get("{KEY}")):
    "Use {KEY}."
"""
    catalog = import_python(source.encode(), Decisions(only=("look",)), path="desk.py")
    assert KEY not in str(catalog)
    assert "hunter2" not in str(catalog)
    report: Any = catalog.report
    assert [(each["pointer"], each["message"]) for each in report] == [
        ("/look", f"`description` {HOLDS}"),
        ("/look/home", "`os.get('<an AWS access key>')` is no literal; the value stays optional without a default"),
        ("/look/password", "`default` of `password` holds a value, and its name says credential"),
        ("/look/q", f"`default` of `q` {HOLDS}"),
    ]


def test_findings_do_not_show_the_value() -> None:
    source = f'def look(q: "{KEY} {KEY}"): ...\n'
    (finding,) = import_python(source.encode(), Decisions(only=("look",)), path="desk.py").findings
    assert KEY not in str(finding)
