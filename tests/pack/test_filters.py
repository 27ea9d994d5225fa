from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import PackError
from bfcl.pack.filters import parse_filter

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)


@pytest.mark.parametrize(
    ("text", "row", "answer"),
    [
        ('zone == "north"', {"zone": "north"}, True),
        ('zone == "north"', {"zone": "north "}, False),
        ('zone != "north"', {"zone": "south"}, True),
        ('zone != "north"', {"zone": 3}, False),
        ("cone == 6", {"cone": 6.0}, True),
        ("cone == 6", {"cone": "6"}, False),
        ("cone == 1", {"cone": True}, False),
        ("open == True", {"open": True}, True),
        ("open == True", {"open": 1}, False),
        ("open != True", {"open": False}, True),
        ("open != True", {"open": 0}, False),
        ("outcome == None", {"outcome": None}, True),
        ("outcome == None", {}, False),
        ("outcome != None", {"outcome": "good"}, False),
        ("cone >= 4 and cone < 6.5", {"cone": 6}, True),
        ("cone >= 4 and cone < 6.5", {"cone": 7}, False),
        ("cone > -2", {"cone": -1.5}, True),
        ("cone < 5", {"cone": None}, False),
        ("cone < 5", {"cone": "4"}, False),
        ("open < True", {"open": False}, False),
        ('zone <= "north"', {"zone": "east"}, True),
        ('zone in ["north", "south"]', {"zone": "south"}, True),
        ("zone in ('north',)", {"zone": "north"}, True),
        ("cone in [1, 2]", {"cone": True}, False),
        ("cone in [1, 2]", {"cone": 2.0}, True),
        ("cone in []", {"cone": 2}, False),
        ("cone not in []", {"cone": 2}, True),
        ('zone not in ["north"]', {"zone": "south"}, True),
        ('zone not in ["north"]', {"zone": 5}, False),
        ('zone not in ["north", 5]', {"zone": 4}, True),
        ('zone not in ["north"]', {}, False),
        ("zone not in [None, 'a']", {"zone": None}, False),
        ('zone != "north"', {"zone": ["north"]}, False),
        ("text == 'a and b != c'", {"text": "a and b != c"}, True),
        ('text == "it\\"s"', {"text": 'it"s'}, True),
        ("straße == 'x'", {"straße": "x"}, True),
        ("\ufb01eld == 1", {"\ufb01eld": 1}, True),
    ],
)
def test_filter_matches_by_json_type(text: str, row: dict[str, object], answer: bool) -> None:
    assert parse_filter(text).matches(row) is answer


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it does not parse as one expression"),
        ("zone", "`zone` is not a comparison"),
        ("zone = 'a'", "`=` is no operator; write `==`"),
        ("zone == 'a' or zone == 'b'", "only `and` joins clauses, without brackets around a group"),
        ("cone == 1 and (zone == 'a' and open == True)", "only `and` joins clauses, without brackets around a group"),
        ("not cone == 1", "`not cone == 1` is not a comparison"),
        ("1 < cone < 4", "a chained comparison; write two clauses joined by `and`"),
        ("cone is None", "`is` is not an operator of filters; use `==`"),
        ("1 == cone", "the left side `1` is not a field name"),
        ("row.cone == 1", "the left side `row.cone` is not a field name"),
        ("cone == other", "`other` is not a literal; quote it if it is text"),
        ("cone == max(1, 2)", "`max(1, 2)` is not a literal"),
        ("cone == 1 + 2", "`1 + 2` is not a literal"),
        ("cone == - -1", "`- -1` is not a literal"),
        ("cone == -True", "`-True` is not a literal"),
        ("cone == [1]", "`[1]` is not a literal"),
        ("cone in 'abc'", "`in` takes a list of literals, not `'abc'`"),
        ("cone in {1, 2}", "`in` takes a list of literals, not `{1, 2}`"),
        ("cone not in [1, [2]]", "`[2]` is not a literal"),
        ("zone == b'a'", "`b'a'` is not text, a number, True, False or None"),
        ("zone == f'a'", "`f'a'` is not a literal"),
        ("cone == 2j", "`2j` is not text, a number, True, False or None"),
        ("cone == 1e999", "`1e999` is not text, a number, True, False or None"),
        ("cone == ...", "`...` is not text, a number, True, False or None"),
        ("cone == 1; import os", "it does not parse as one expression"),
        ("__import__('os').system('x') == 1", "the left side `__import__('os').system('x')` is not a field name"),
    ],
)
def test_filter_refuses_what_is_not_a_conjunction_of_literals(text: str, reason: str) -> None:
    with pytest.raises(PackError) as caught:
        parse_filter(text)
    (problem,) = caught.value.problems
    assert problem.code == "invalid_filter"
    assert problem.field == "filter"
    assert str(problem) == (f"invalid_filter: filter {text!r}: {reason}; expected `field op literal`, joined by `and`")


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 9000 + "1 == a", "a == " + "1" * 5000, "a == '\0'", "x" * 20000])
def test_filter_refuses_hostile_text_with_the_same_code(text: str) -> None:
    with pytest.raises(PackError, match="invalid_filter"):
        parse_filter(text)


@given(st.one_of(st.text(), st.from_regex(r"[a-c] ?(==|!=|<|in|not in|is|and|or) ?[-\[\]('\"0-9a-c,) ]*")))
def test_filter_raises_nothing_but_pack_errors(text: str) -> None:
    assert _codes(text) <= {"invalid_filter"}


EFFECTS: list[str] = []


@given(st.sampled_from(["EFFECTS.append('x')", "open('x')", "[EFFECTS.append(1)]", "(lambda: EFFECTS.append(1))()"]))
def test_filter_never_evaluates_code(expression: str) -> None:
    for text in (f"a == {expression}", f"{expression} == 1", f"a in [{expression}]", expression):
        with pytest.raises(PackError):
            parse_filter(text)
    assert EFFECTS == []


@given(SCALARS, SCALARS)
def test_filter_equality_is_json_equality(value: object, other: object) -> None:
    row = {"a": value}
    literal = repr(other)
    alike = _kind(value) == _kind(other)
    assert parse_filter(f"a == {literal}").matches(row) is (alike and value == other)
    assert parse_filter(f"a != {literal}").matches(row) is (alike and value != other)
    assert parse_filter(f"a in [{literal}]").matches(row) is (alike and value == other)
    assert parse_filter(f"a not in [{literal}]").matches(row) is (alike and value != other)


def _codes(text: str) -> set[str]:
    try:
        parse_filter(text).matches({})
    except PackError as error:
        return {problem.code for problem in error.problems}
    return set()


def _kind(value: object) -> object:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
