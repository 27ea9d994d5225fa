"""Which credentials an endpoint refers to, and where one stands in its file by mistake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_json
from bfcl.located import parse_json
from bfcl.pack.endpoint_auth import Reference, credential_places, read_auth
from bfcl.pack.shape import Shape

SECRET = "sk-0123456789abcdefXYZ"


def read(auth: Json) -> tuple[tuple[Reference, ...], list[str]]:
    shape = Shape(parse_json(canonical_json({"auth": auth}), path="e", code="x"), "endpoint_contract_invalid")
    return read_auth(auth, shape), [str(problem) for problem in shape.problems]


def reference(name: str) -> Reference:
    return {
        "schema_version": "bfcl-credential-reference-v1",
        "resolver": "environment",
        "name": name,
        "provider": None,
        "version": None,
    }


@pytest.mark.parametrize(
    ("auth", "references"),
    [
        (None, ()),
        ({}, ()),
        ({"bearer_token_env": "KILN_TOKEN"}, (reference("KILN_TOKEN"),)),
        ({"bearer_token_ref": {"resolver": "environment", "name": "A"}}, (reference("A"),)),
        (
            {
                "bearer_token_ref": {
                    "resolver": "secret_manager",
                    "provider": "vault",
                    "name": "kilns/a",
                    "version": "3",
                }
            },
            ({**reference("kilns/a"), "resolver": "secret_manager", "provider": "vault", "version": "3"},),
        ),
        ({"bearer_token_env": "A", "headers": {"X-Team": "B", "X-Key": "C"}}, tuple(map(reference, "ABC"))),
    ],
)
def test_references_name_what_holds_the_credentials(auth: Json, references: tuple[Reference, ...]) -> None:
    assert read(auth) == (references, [])


def test_reference_at_fault_is_left_out_and_told() -> None:
    found, told = read({"bearer_token_env": "kiln token", "headers": {"X-Team": "B"}})
    assert found == (reference("B"),)
    assert told == [
        "e:1: endpoint_contract_invalid: `auth.bearer_token_env` is <str, 10>; expected the name of an environment "
        "variable: capitals, digits and `_`\n"
        "  fix: keep the value in an environment variable and write that variable's name here"
    ]


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ({"auth": {"bearer_token_env": SECRET}}, [("auth", "bearer_token_env")]),
        ({"expected": {"oracle_id": f" {SECRET}"}}, [("expected", "oracle_id")]),
        ({"list": ["plain", "Bearer abc"]}, [("list", 1)]),
        ({"auth": {"headers": {"A": "0123456789abcdef0123456789abcdef"}}}, [("auth", "headers", "A")]),
        ({"expected": {"content_digest": "0123456789abcdef0123456789abcdef"}}, []),
        ({"auth": {"bearer_token_env": "A_NAME_THAT_IS_LONGER_THAN_32_CHARACTERS"}}, []),
        ({"auth": {"bearer_token_ref": {"name": "a/path/that/is/longer/than/32/characters"}}}, []),
    ],
)
def test_credential_is_found_where_it_stands(value: Json, places: list[tuple[str | int, ...]]) -> None:
    assert [pointer for pointer, _ in credential_places(value)] == places


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(JSON, st.sampled_from(["bearer_token_env", "bearer_token_ref", "headers"]))
def test_no_value_below_auth_is_ever_shown(value: Json, key: str) -> None:
    hidden = f"hush{'x' * 40}"
    _, told = read({key: {"X-Key": hidden, "more": value}} if key == "headers" else {key: [hidden, value]})
    assert told
    assert not any(hidden in one for one in told)
