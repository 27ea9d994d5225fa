"""What arguments an operation takes: the reader alone."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.imports.operations import operations_of
from bfcl.authoring.imports.parameters import OperationReader
from bfcl.authoring.imports.references import References
from bfcl.authoring.imports.report import Faults, Notes


def read(operation: Any, path: str = "/x") -> tuple[Any, list[tuple[str, str]]]:
    """(parameters, (keyword, action) of each notice)."""
    root = {"paths": {path: {"post": {"operationId": "it", **operation}}}}
    notes, faults = Notes(), Faults()
    ((only,), _) = operations_of(root, notes, faults)
    parameters = OperationReader(References(root, faults), notes, faults, "3.1").parameters(only)
    found: Any = notes.to_json(lambda at: dict.fromkeys(at, 1))
    return parameters, [(each["keyword"], each["action"]) for each in found]


def body(schema: Any, **more: Any) -> Any:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}, **more}}


def test_operation_without_arguments_takes_none() -> None:
    assert read({}) == ({"type": "object", "properties": {}, "additionalProperties": False}, [])


def test_path_parameters_come_first_and_are_required() -> None:
    declared = [{"name": name, "in": "query", "schema": {}} for name in ("b", "a")]
    parameters, notes = read({"parameters": declared}, path="/x/{id}")
    assert list(parameters["properties"]) == ["id", "b", "a"]
    assert parameters["required"] == ["id"]
    assert notes == [("parameters", "added")]


@pytest.mark.parametrize(
    ("further", "closed"), [(None, False), (False, False), (True, True), ({"type": "string"}, {"type": "string"})]
)
def test_arguments_are_open_only_where_the_body_says_so(further: Any, closed: Any) -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    parameters, _ = read(body(schema if further is None else {**schema, "additionalProperties": further}))
    assert parameters["additionalProperties"] == closed


def test_body_that_may_be_left_out_requires_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "required": ["a"]}
    parameters, notes = read(body(schema, required=False))
    assert "required" not in parameters
    assert notes == [("required", "widened")]


def test_json_body_is_chosen_before_others() -> None:
    content = {
        "text/plain": {"schema": {"type": "string"}},
        "application/merge-patch+json": {"schema": {"type": "array"}},
    }
    parameters, notes = read({"requestBody": {"content": content}})
    assert parameters["properties"] == {"body": {"type": "array"}}
    assert notes == [("requestBody", "translated"), ("content", "chosen")]
