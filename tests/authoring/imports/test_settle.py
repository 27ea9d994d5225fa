"""What is left of a schema is always inside the subset, and nothing more than needed is gone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.settle import settle
from bfcl.pack.schema_keywords import RULES, TYPES
from bfcl.pack.schema_subset import schema_problems

LEAF = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from([*TYPES, "x", "(", "#/$defs/x"])
)
KEYWORD = st.sampled_from([*RULES, "format", "nullable", "x-y"])
SCHEMA = st.dictionaries(
    KEYWORD,
    st.recursive(
        LEAF,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(KEYWORD, inner, max_size=4)
            | st.dictionaries(st.sampled_from(["a", "b/c", "0"]), inner, max_size=2)
        ),
        max_leaves=10,
    ),
    max_size=5,
)


@given(SCHEMA)
def test_settled_schema_has_no_problem_and_settles_to_itself(schema: dict[str, Any]) -> None:
    settled, removed = settle(schema)
    assert schema_problems({"properties": {"it": settled}}) == []
    assert settle(settled) == (settled, [])
    assert (settled == schema) == (removed == [])


def test_only_what_is_refused_goes_away() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x", 1, "x"], "default": "y"}},
        "required": ["a", "b", "a"],
        "additionalProperties": False,
    }
    settled, removed = settle(schema)  # type: ignore[arg-type]
    assert settled == {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert [(each.pointer, each.problem) for each in removed] == [
        ("/properties/a/enum/2", "repeated_member"),
        ("/properties/a/enum/1", "value_violates_type"),
        ("/required/2", "repeated_member"),
        ("/required/1", "required_unsatisfiable"),
        ("/properties/a/default", "default_violates_schema"),
    ]


def test_input_is_left_alone() -> None:
    schema: dict[str, Any] = {"enum": [1, 1]}
    settle(schema)
    assert schema == {"enum": [1, 1]}
