"""Which operations a file offers, and which of its paths matter to whom."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.operations import operations_of
from bfcl.authoring.imports.report import Faults, Notes
from bfcl.errors import BfclError
from tests.authoring.imports.specs import imported

FINE = {"get": {"operationId": "fine"}}
OTHER = {"$ref": "other.yaml#/x"}


def offered(paths: Any) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """(name and source of each operation, messages of the unread paths, messages of faults of the file)."""
    faults = Faults()
    found, unread = operations_of({"paths": paths}, Notes(), faults)
    return (
        [(each.name, each.source) for each in found],
        *([each.message for each in some.problems("s", lambda at: dict.fromkeys(at, 1))] for some in (unread, faults)),
    )


def test_operations_stand_in_file_order_and_extensions_are_skipped() -> None:
    paths = {"/b": {"post": {}, "get": {}, "summary": "B"}, "x-more": 3, "/a": FINE}
    assert offered(paths) == ([("post_b", "POST /b"), ("get_b", "GET /b"), ("fine", "GET /a")], [], [])


def test_path_that_cannot_be_read_is_no_fault_of_the_file() -> None:
    assert offered({"/x": OTHER, "/y": 3, "/z": {"get": None}, "/a": FINE}) == (
        [("fine", "GET /a")],
        [
            "`$ref` leads to 'other.yaml#/x', outside this file",
            "path '/y' is 3; expected an object",
            "operation `get` is null; expected an object",
        ],
        [],
    )


def test_file_without_an_operation_is_at_fault() -> None:
    assert offered({})[2] == ["the file declares no operation"]


def test_path_elsewhere_does_not_matter_to_who_wants_another() -> None:
    catalog = imported({"/x": OTHER, "/y": FINE}, decisions=Decisions(only=("fine",)))
    assert [tool.name for tool in catalog.tools] == ["fine"]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ((), []),
        (("gone",), ["unknown_operation: --operations: the source has no operation 'gone'\n  fix: name one of: fine"]),
    ],
)
def test_path_elsewhere_is_told_to_who_may_want_its_operations(only: tuple[str, ...], expected: list[str]) -> None:
    with pytest.raises(BfclError) as refused:
        imported({"/x": OTHER, "/y": FINE}, decisions=Decisions(only=only))
    assert [str(each) for each in refused.value.problems] == [
        *expected,
        "spec.json:5: import_source_invalid: `$ref` leads to 'other.yaml#/x', outside this file\n"
        "  fix: bundle the files into one, or leave the operation out",
    ]
