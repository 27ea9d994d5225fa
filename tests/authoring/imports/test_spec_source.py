"""Reading OpenAPI files: keys that are no text, lines of many places, versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.spec_source import dialect_of, read_spec
from bfcl.errors import BfclError
from bfcl.located import parse_json
from tests.authoring.imports.specs import DOCUMENTS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


def pointers(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at]
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
        found += pointers(child, (*at, key))
    return found


def test_keys_that_yaml_reads_as_numbers_or_words_become_text_and_move_no_line() -> None:
    text = "responses:\n  200: {x: 1, 404: y}\n  true: a\n  ~: b\n  1.5: c\n  '300': d\n  -1:\n    e: 200\n"
    source = read_spec(text.encode(), path="s.yaml")
    assert source.document.value == {
        "responses": {"200": {"x": 1, "404": "y"}, "true": "a", "~": "b", "1.5": "c", "300": "d", "-1": {"e": 200}}
    }
    places = [("responses", "200", "404"), ("responses", "-1", "e"), ("responses", "gone", "x")]
    assert source.lines(places) == dict(zip(places, (2, 8, 1), strict=True))


def test_quoting_counts_characters_not_bytes_and_skips_a_byte_order_mark() -> None:
    source = read_spec('\ufeffä: {é: ü, 7: ö}\n# 8: no key\n8: "9: no key"\n'.encode(), path="s.yml")
    assert source.document.value == {"ä": {"é": "ü", "7": "ö"}, "8": "9: no key"}


def test_key_named_twice_once_quoted_is_refused() -> None:
    with pytest.raises(BfclError) as refused:
        read_spec(b"a:\n  200: x\n  '200': y\n", path="s.yaml")
    assert str(refused.value) == (
        "s.yaml:3: import_source_invalid: key '200' is given twice in one mapping\n  fix: keep one of the two"
    )


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        (b"a: [", "s.yaml", "s.yaml:2: import_source_invalid: not YAML: did not find expected node content"),
        (b"{", "s", "s:1: import_source_invalid: not JSON: Expecting property name enclosed in double quotes"),
        (
            b"a: \xff",
            "s.yaml",
            "s.yaml:1: import_source_invalid: byte 0xff is not UTF-8\n  fix: save the file as UTF-8",
        ),
        (b"[" * 300, "s.yaml", "s.yaml:1: import_source_invalid: nested deeper than 200 levels"),
    ],
)
def test_unreadable_file_is_refused(data: bytes, path: str, expected: str) -> None:
    with pytest.raises(BfclError) as refused:
        read_spec(data, path=path)
    assert str(refused.value) == expected


@given(value=st.lists(JSON) | st.dictionaries(st.text(max_size=3), JSON), indent=st.sampled_from([None, 0, 2]))
def test_lines_of_json_equal_those_found_one_at_a_time(value: Any, indent: int | None) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "replace")
    one = parse_json(data, path="s.json", code="x")
    wanted = [*pointers(one.value), ("gone", 3)]
    assert read_spec(data, path="s.json").lines(wanted) == {each: one.line(each) for each in wanted}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_place_of_a_document_has_the_line_of_its_key(path: Path) -> None:
    source = read_spec(path.read_bytes(), path=path.name)
    text = source.text.split("\n")
    for pointer, line in source.lines(pointers(source.document.value)[:150]).items():
        if pointer and isinstance(pointer[-1], str) and not source.is_json:
            assert pointer[-1] in text[line - 1] or "*" in text[line - 1]


@pytest.mark.parametrize(
    ("head", "dialect"), [("openapi: 3.0", "3.0"), ("openapi: 3.0.3", "3.0"), ("openapi: '3.1'", "3.1")]
)
def test_dialect_is_read_from_openapi(head: str, dialect: str) -> None:
    assert dialect_of(read_spec(head.encode(), path="s.yaml")) == dialect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "info: {}\nswagger: '2.0'\n",
            "s.yaml:2: import_source_invalid: this is a Swagger 2.0 file; expected OpenAPI 3.0 or 3.1\n"
            "  fix: convert it to OpenAPI 3 first",
        ),
        (
            "info: {}\n",
            "s.yaml:1: import_source_invalid: the field `openapi` is missing; expected OpenAPI 3.0 or 3.1\n"
            "  fix: name an OpenAPI file, or add `openapi: 3.1.0`",
        ),
        (
            "- 1\n",
            "s.yaml:1: import_source_invalid: the field `openapi` is missing; expected OpenAPI 3.0 or 3.1\n"
            "  fix: name an OpenAPI file, or add `openapi: 3.1.0`",
        ),
        (
            "openapi: 3.10.0\n",
            's.yaml:1: import_source_invalid: `openapi` is "3.10.0"; expected OpenAPI 3.0 or 3.1\n'
            "  fix: save the file as OpenAPI 3.0 or 3.1",
        ),
    ],
)
def test_other_versions_are_refused(text: str, expected: str) -> None:
    with pytest.raises(BfclError) as refused:
        dialect_of(read_spec(text.encode(), path="s.yaml"))
    assert str(refused.value) == expected
