"""Where a parameter's values come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.stubs.binding import Binding, bindings
from bfcl.canonical import Json
from bfcl.pack.own_config import load_own
from bfcl.pack.slots import parse_source
from tests.packs import put, write_pack


def bound(tmp_path: Path, schema: Json) -> Binding:
    parameters = {"type": "object", "properties": {"size": schema}, "required": ["size"]}
    root = write_pack(tmp_path / "pack", put("tools.json", [0, "function", "parameters"], parameters))
    pack = load_own(root).pack
    [found] = bindings(pack, pack.tools[0])
    return found


@pytest.mark.parametrize(
    ("schema", "source", "examples"),
    [
        ({"type": "string", "enum": ["S", "M"]}, "enum:get_kiln.size", ("S", "M")),
        ({"type": "integer", "minimum": 3, "maximum": 5}, "range:{min: 3, max: 5}", (3, 5)),
        ({"type": "integer"}, "range:{min: 1, max: 5}", (1, 5)),
        ({"type": "number", "minimum": 2}, "literal:[2.0,2.5]", (2.0, 2.5)),
        ({"type": ["null", "string"]}, 'literal:["size one","size two"]', ("size one", "size two")),
    ],
)
def test_parameter_gets_a_source_of_its_type(tmp_path: Path, schema: Json, source: str, examples: tuple[Json]) -> None:
    found = bound(tmp_path, schema)
    assert (found.source, found.examples) == (source, examples)
    assert found.source is not None
    parse_source(found.source)


@pytest.mark.parametrize(("kind", "literal"), [("boolean", True), ("array", []), ("object", {})])
def test_parameter_no_slot_can_hold_gets_a_literal(tmp_path: Path, kind: str, literal: Json) -> None:
    found = bound(tmp_path, {"type": kind})
    assert (found.source, found.literal) == (None, literal)


def test_parameter_named_like_a_key_is_drawn_from_that_collection(tmp_path: Path) -> None:
    pack = load_own(write_pack(tmp_path / "pack")).pack
    [found] = bindings(pack, pack.tools[0])
    assert (found.source, found.collection) == ("fixture:kilns.kiln_id", "kilns")
