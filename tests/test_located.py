"""Values that know where they stand: whatever the bytes, a value or a placed refusal, never another exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bfcl import located
from bfcl.canonical import canonical_json
from bfcl.errors import BfclError, Problem
from bfcl.located import MAX_DEPTH, Document, parse_flow, parse_json, parse_yaml

PARSERS = {"yaml": parse_yaml, "json": parse_json}
PIECES = ["a", "b: ", "- ", "\n", "  ", "{", "}", "[", "]", ",", ": ", '"', "'", "&x ", "*x", "<<: ", "!!int ", "!t "]
PIECES += [
    "1",
    "-0",
    "1e999",
    "null",
    "~",
    "yes",
    ".nan",
    "? ",
    "|\n",
    ">",
    "#",
    "---\n",
    "...",
    "\t",
    "\r",
    "é",
    "\x00",
]
PIECES += ["\u2028", "\\ud800", "NaN", "Infinity", "%YAML 1.1\n", "@", "`", "\x85"]

TEXT = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cs", "Cc"], max_codepoint=0xFFFF, exclude_characters="\u2028\u2029\ufeff"
    ),
    max_size=6,
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES: Any = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=10
)


def refused(parse: Any, data: bytes) -> Problem:
    with pytest.raises(BfclError) as caught:
        parse(data, path="file", code="bad_file")
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "line", "said", "fix"),
    [
        (
            "en: Yes: go ahead\n",
            1,
            "mapping values are not allowed in this context",
            "put the text in quotes if it holds `: `; else give this line the indentation of its neighbours",
        ),
        (
            "a: {en: {kind} x}\n",
            1,
            "did not find expected ',' or '}'",
            "close the bracket that is open; put text in quotes if it holds brackets or commas",
        ),
        (
            "a: {b: range:{min: 1}}\n",
            1,
            "found unexpected ':'",
            "put the text in quotes: inside brackets a colon ends a key",
        ),
        ("a: 'x\n", 2, "found unexpected end of stream", "close the quotation mark that is open"),
        (
            "a:\n\tb: 1\n",
            2,
            "found character that cannot start any token",
            "indent with spaces; YAML allows no tab there",
        ),
        (
            "a: @x\n",
            1,
            "found character that cannot start any token",
            "put the text in quotes: `@` begins no plain text",
        ),
        (
            "- a: b\n c: d\n",
            2,
            "did not find expected '-' indicator",
            "give this line the indentation of the entry it belongs to, or begin it with `- `",
        ),
        ("a: *x\n", 1, "found undefined alias", "put the text in quotes: `*` begins an alias"),
    ],
)
def test_yaml_slip_is_told_with_the_likeliest_edit(text: str, line: int, said: str, fix: str) -> None:
    with pytest.raises(BfclError) as caught:
        parse_yaml(text.encode(), path="file", code="bad_file")
    assert str(caught.value) == f"file:{line}: bad_file: not YAML: {said}\n  fix: {fix}"


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@given(
    data=st.binary(max_size=40)
    | st.lists(st.sampled_from(PIECES), max_size=14).map(lambda parts: "".join(parts).encode())
)
def test_any_bytes_give_plain_data_or_a_placed_refusal(parse: Any, data: bytes) -> None:
    try:
        document = parse(data, path="file", code="bad_file")
    except BfclError as error:
        lines = max(1, len(data.decode("utf-8", "replace").splitlines()) + 1)
        for problem in error.problems:
            assert problem.code == "bad_file"
            assert problem.path == "file"
            assert problem.line is not None
            assert 1 <= problem.line <= lines
            assert problem.message
    else:
        canonical_json(document.value)
        assert document.line() >= 1


@given(text=st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_any_flow_text_gives_plain_data_or_a_value_error(text: str) -> None:
    said = None
    try:
        canonical_json(parse_flow(text))
    except ValueError as error:
        said = str(error)
    assert said != ""


@given(VALUES)
def test_json_reads_as_json_does(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    assert parse_json(text.encode(), path="file", code="bad_file").value == value


@given(VALUES)
def test_yaml_reads_what_a_dumper_wrote_in_quotes(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=True)
    read = parse_yaml(text.encode(), path="file", code="bad_file").value
    assert json.dumps(read) == json.dumps(value)


def pointers(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every pointer into a value, parents first."""
    found = [prefix]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        found += pointers(child, (*prefix, key))
    return found


NESTED = st.recursive(
    st.integers(0, 9),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@given(value=NESTED)
def test_every_place_is_where_the_text_shows_it(parse: Any, value: Any) -> None:
    text = json.dumps(value, indent=2)
    lines = text.split("\n")
    document: Document = parse(text.encode(), path="file", code="bad_file")
    for pointer in pointers(value):
        line, column = document.place(pointer)
        shown = lines[line - 1][column - 1 :]
        child = value
        for part in pointer:
            child = child[part]
        if pointer and isinstance(pointer[-1], str):
            assert shown.startswith(json.dumps(pointer[-1]) + ": ")
        else:
            assert shown.startswith(json.dumps(child, indent=2).split("\n")[0])
    assert len({tuple(document.place(pointer)) for pointer in pointers(value)}) == len(pointers(value))


YAML = """\
# a remark
name: kiln
slots:
  - first: 1
    second: {x: yes, "y": [7, 8]}
  - &shared
    third: on
copy: *shared
"""


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ((), (2, 1)),
        (("name",), (2, 1)),
        (("slots",), (3, 1)),
        (("slots", 0), (4, 5)),
        (("slots", 0, "second"), (5, 5)),
        (("slots", 0, "second", "y"), (5, 22)),
        (("slots", 0, "second", "y", 1), (5, 31)),
        (("slots", 9), (3, 1)),
        (("slots", 0, "absent", "deeper"), (4, 5)),
        (("absent",), (2, 1)),
        (("name", "no mapping"), (2, 1)),
    ],
)
def test_yaml_places_are_keys_items_or_the_nearest_parent(pointer: Any, place: Any) -> None:
    document = parse_yaml(YAML.encode(), path="file", code="bad_file")
    assert document.place(pointer) == place
    assert document.line(pointer) == place[0]


def test_yaml_scalars_follow_json_and_everything_else_stays_text() -> None:
    text = "[true, false, null, ~, 1, -0, 1.5, 1e3, yes, on, 012, 0x1F, 1_000, 12:30, 2026-01-02, +1, .5, '1', True]"
    assert parse_flow(text) == [
        True, False, None, None, 1, 0, 1.5, 1000.0, "yes", "on", "012", "0x1F", "1_000", "12:30", "2026-01-02", "+1",
        ".5", "1", "True",
    ]  # fmt: skip


def test_merge_keys_give_way_to_the_mappings_own() -> None:
    text = b"base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nuse:\n  <<: [*b, *o]\n  x: 9\n"
    value = parse_yaml(text, path="file", code="bad_file").value
    assert isinstance(value, dict)
    assert value["use"] == {"x": 9, "y": 2, "z": 4}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a: 1\na: 2\n", "file:2: bad_file: key 'a' is given twice in one mapping\n  fix: keep one of the two"),
        (b"a:\n  1: x\n", "file:2: bad_file: key 1 is not text; expected a string\n  fix: quote the key"),
        (b"a: .inf\n", "file:1: bad_file: .inf is not a finite number\n  fix: quote it to keep it as text"),
        (b"a: !weird 1\n", "file:1: bad_file: tag '!weird' is not supported\n  fix: remove the tag"),
        (b"a: 1\n---\nb: 2\n", "file:2: bad_file: not YAML: a second document starts here; expected one document"),
        (b"a: [\n", "file:2: bad_file: not YAML: did not find expected node content"),
        (b"a: 1\nb: \xff\n", "file:2: bad_file: byte 0xff is not UTF-8\n  fix: save the file as UTF-8"),
        (b"a: &x [*x]\n", "file:1: bad_file: an alias contains itself or nests too deep"),
    ],
)
def test_yaml_refusals_are_placed(data: bytes, text: str) -> None:
    assert str(refused(parse_yaml, data)) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"a": 1,\n "a": 2}', "file:2: bad_file: key 'a' is given twice in one object\n  fix: keep one of the two"),
        (b'{"a": NaN}', "file:1: bad_file: NaN is not a finite number"),
        (b'{"a":\n 1e999}', "file:2: bad_file: 1e999 is not a finite number"),
        (b"[1,\n]", "file:2: bad_file: not JSON: Expecting value"),
        (b'["\\ud800"]', "file:1: bad_file: holds a lone UTF-16 surrogate, which UTF-8 cannot store"),
        (b"\xef\xbb\xbf{}", "file:1: bad_file: starts with a byte order mark\n  fix: save the file as plain UTF-8"),
    ],
)
def test_json_refusals_are_placed(data: bytes, text: str) -> None:
    assert str(refused(parse_json, data)) == text


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5_000, 100_000])
def test_deep_nesting_is_refused_and_never_crashes(parse: Any, depth: int) -> None:
    assert refused(parse, b"[" * depth + b"]" * depth).message in {
        f"nested deeper than {MAX_DEPTH} levels",
        "not YAML: exceeded maximum nesting depth",
    }


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
def test_nesting_up_to_the_limit_is_read(parse: Any) -> None:
    value = parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, path="file", code="bad_file").value
    assert json.dumps(value) == "[" * MAX_DEPTH + "]" * MAX_DEPTH


def test_aliases_cannot_blow_a_small_file_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located, "MAX_NODES", 20_000)
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    problem = refused(parse_yaml, "\n".join(levels).encode())
    assert problem.message == "aliases expand to more than 20000 values"


def test_all_problems_of_a_yaml_file_are_told() -> None:
    with pytest.raises(BfclError) as caught:
        parse_yaml(b"a: .nan\nb: !x 1\nb: 2\n1: 3\n", path="file", code="bad_file")
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3, 4]


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), min_size=1), min_size=1, max_size=4))
def test_block_yaml_places_every_item_on_its_line(value: list[dict[str, int]]) -> None:
    text = yaml.safe_dump(value, sort_keys=False)
    document = parse_yaml(text.encode(), path="file", code="bad_file")
    line = 1
    for index, row in enumerate(value):
        assert document.place((index,)) == (line, 3)
        for key in row:
            assert document.place((index, key)) == (line, 3)
            line += 1


def test_json_duplicate_is_placed_where_the_parser_meets_it() -> None:
    with pytest.raises(BfclError) as caught:
        parse_json(b'{"a": 1,\n "a": {"x": 1,\n  "x": 2}}', path="p.json", code="c")
    assert [str(problem) for problem in caught.value.problems] == [
        "p.json:3: c: key 'x' is given twice in one object\n  fix: keep one of the two"
    ]


def test_json_brackets_inside_texts_are_no_nesting() -> None:
    text = json.dumps(["[" * (MAX_DEPTH + 1), '\\"[{' * MAX_DEPTH])
    assert parse_json(text.encode(), path="p.json", code="c").value == json.loads(text)


def test_json_nested_too_deep_is_refused_even_with_a_duplicate_inside() -> None:
    text = '{"a":' * 5000 + '{"b":1,"b":2}' + "}" * 5000
    with pytest.raises(BfclError) as caught:
        parse_json(text.encode(), path="p.json", code="c")
    assert str(caught.value.problems[0]) == f"p.json:1: c: nested deeper than {MAX_DEPTH} levels"


def test_a_key_given_twice_before_text_that_is_no_json_is_told_as_that() -> None:
    with pytest.raises(BfclError) as caught:
        parse_json(b'[{"a": {"b": 1, "b": 2}, "c": }]', path="p.json", code="c")
    assert str(caught.value) == "p.json:1: c: not JSON: Expecting value"
