"""Data as it lies in a page: every record, in order, and numbers as they were written."""

from __future__ import annotations

import gzip
import json

import pytest

from bfcl.canonical import Json
from bfcl.release.document.packing import Packer, json_text


@pytest.mark.parametrize("rows", [[], [{"a": 1}], [{"a": "</script>"}, ["ü"], None]], ids=["none", "one", "several"])
def test_packed_rows_are_read_back_with_what_stands_beside_them(rows: list[Json]) -> None:
    packer = Packer()
    packer.add(rows)
    assert packer.rows == len(rows)
    assert json.loads(gzip.decompress(packer.end(b=[2], a=1))) == {"rows": rows, "a": 1, "b": [2]}


def test_packed_bytes_depend_on_nothing_but_the_rows() -> None:
    one, other = Packer(), Packer()
    one.add([1, 2])
    other.add([1])
    other.add([2])
    assert one.end() == other.end()


def test_json_text_keeps_kinds_of_number_apart_and_spreads_long_values() -> None:
    assert [json_text(value) for value in (1.0, 1, "1", True, None)] == ["1.0", "1", '"1"', "true", "null"]
    assert json_text({"key": "x" * 60}) == '{\n  "key": "' + "x" * 60 + '"\n}'
