"""A credential is found however JSON spells it, and what is none is not looked for."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.modelio.echoed import PLACEHOLDERS, holds

PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=24)


@given(PRINTABLE, st.text(), st.text(), st.integers(0, 3))
def test_key_is_found_in_texts_of_json_in_each_other(key: str, before: str, after: str, depth: int) -> None:
    text = before + key + after
    for _ in range(depth):
        text = json.dumps({"arguments": text})
    assert holds(text, key) == (key.lower() not in PLACEHOLDERS)


@given(PRINTABLE, st.data())
def test_key_is_found_with_any_of_its_letters_spelled_by_number(key: str, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=len(key), max_size=len(key)))
    letters = [
        f"\\u{ord(one):04X}" if number else json.dumps(one)[1:-1] for one, number in zip(key, chosen, strict=True)
    ]
    assert holds(f'{{"a": "{"".join(letters)}"', key) == (key.lower() not in PLACEHOLDERS)


@given(PRINTABLE, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
def test_key_is_found_in_base64_wherever_it_begins(key: str, before: bytes, after: bytes, url_safe: bool) -> None:
    coded = (urlsafe_b64encode if url_safe else b64encode)(before + key.encode() + after).decode()
    assert holds(json.dumps({"content": coded}), key) == (key.lower() not in PLACEHOLDERS)


@given(PRINTABLE, st.data(), st.sampled_from(["%", r"\u0025"]))
def test_key_is_found_with_any_of_its_letters_escaped_for_an_address(
    key: str, data: st.DataObject, percent: str
) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=len(key), max_size=len(key)))
    escaped = "".join(
        f"%{ord(one):02X}" if coded or one == "%" else one for one, coded in zip(key, chosen, strict=True)
    )
    text = json.dumps({"content": f"https://h/?key={escaped}"}).replace("%", percent)
    assert holds(text, key) == (key.lower() not in PLACEHOLDERS)


@pytest.mark.parametrize(
    ("key", "text", "held"),
    [
        ("abcd", '"abcd"', True),
        ("abcd", '"Bearer abcd."', True),
        ("abcd", r'"\nabcd"', True),
        ("abcd", "key_abcd", True),
        ("abcd", "xabcd abcd1", False),
        ("ab-cde", "xab-cde (ab-cde)", True),
        ("abcdefgh", "xabcdefghy", True),
        ("abc", "abc", False),
        ("None", "None", False),
        ("EMPTY", "EMPTY", False),
        ("sk-no-key-required", "sk-no-key-required", False),
    ],
)
def test_short_key_counts_as_a_word_and_a_placeholder_never(key: str, text: str, held: bool) -> None:
    assert holds(text, key) == held


def test_text_of_escapes_that_make_escapes_is_given_up_in_the_end() -> None:
    assert not holds("\\u005c" * 40_000, "canary-5b1f")
