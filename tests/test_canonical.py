"""One serialization for everything that is hashed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl import canonical
from bfcl.canonical import canonical_json, canonical_text, from_canonical, readable_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: Any = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


def test_canonical_text_is_pinned() -> None:
    value = {"b": [1, 1.0, True, None, "é\n"], "a": {"z": (), "é": "\u2028"}, "": -0.0}
    assert canonical_text(value) == '{"":-0.0,"a":{"z":[],"é":"\u2028"},"b":[1,1.0,true,null,"é\\n"]}'
    assert canonical_json(value) == canonical_text(value).encode()


def test_readable_json_is_pinned() -> None:
    assert readable_json({"b": ["é"], "a": {}}) == '{\n  "a": {},\n  "b": [\n    "é"\n  ]\n}\n'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_numbers_that_json_lacks_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        canonical_json(value)
    with pytest.raises(ValueError, match="Out of range float values"):
        readable_json(value)


def test_lone_surrogate_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        canonical_json("\ud800")


@given(VALUES)
def test_canonical_json_reads_back_and_is_a_fixed_point(value: Any) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    assert canonical_json(json.loads(data)) == data
    assert b"\n" not in data


@given(VALUES)
def test_canonical_text_is_what_the_json_module_makes(value: Any) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert canonical_text(value) == text
    assert from_canonical(text) == from_canonical(text + "\n") == value


def test_a_value_that_was_refused_is_not_held_against_the_next() -> None:
    inside: list[Any] = [1]
    outside = {"a": inside, "b": object()}
    for _ in range(2):
        with pytest.raises(TypeError, match="Object of type object is not JSON serializable"):
            canonical_text(outside)
    outside["b"] = inside
    assert canonical_text(outside) == '{"a":[1],"b":[1]}'
    inside.append(outside)
    for write in (canonical_text, readable_json):
        with pytest.raises(RecursionError):
            write(outside)
    inside.pop()
    assert canonical_text([outside, outside]) == '[{"a":[1],"b":[1]},{"a":[1],"b":[1]}]'


def test_without_the_encoder_of_c_texts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"b": [1, 1.0, None, "é\n"], "a": {}}
    wanted = canonical_text(value), readable_json(value)
    with monkeypatch.context() as patch:
        patch.setattr("json.encoder.c_make_encoder", None)
        patch.setattr(canonical, "_CHUNKS", canonical._chunks_of())
        assert canonical._CHUNKS is None
        assert (canonical_text(value), readable_json(value)) == wanted


def test_readable_json_goes_deeper_than_anything_that_is_loaded() -> None:
    deep: Any = 1
    for level in range(500):
        deep = [deep] if level % 2 else {"a": deep}
    assert readable_json(deep).count(b"\n") == 1001


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "Expecting value"), (" 1", "Expecting value"), ("1 2", "more than one value"), ("1\n\n", "more")],
)
def test_only_the_whole_of_a_text_is_read(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        from_canonical(text)


@given(st.dictionaries(TEXT, SCALARS, max_size=6))
def test_order_of_keys_changes_nothing(value: dict[str, Any]) -> None:
    assert canonical_json(dict(reversed(value.items()))) == canonical_json(value)


@given(VALUES)
def test_readable_json_is_what_the_json_module_lays_out(value: Any) -> None:
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    assert readable_json(value) == f"{text}\n".encode()
