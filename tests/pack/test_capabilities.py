from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.pack.capabilities import Capability, read_capabilities
from tests.packs import ASSERTIONS, TEMPLATES

NAME = "ASSERTION_CAPABILITIES"


def test_capabilities_of_the_good_pack_are_read_with_their_defaults() -> None:
    used = {name for template in TEMPLATES.values() for name in template["success_assertions"]}
    read = read_capabilities(ASSERTIONS.encode(), "assertions.py", used)
    assert read.problems == ()
    assert read.entries["assert_kiln_busy"] == Capability(trace=False, executable=True, category="state")
    assert set(read.entries) == used


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (f"{NAME} = dict()", f"1: `{NAME}` is `dict()`; expected a literal dict"),
        (f"{NAME} = [1]", f"1: `{NAME}` is `[1]`; expected a literal dict"),
        (
            f"if 1:\n    {NAME} = {{}}",
            f"2: `{NAME}` is bound here; expected one module-level literal assignment",
        ),
        (
            f"{NAME} = {{}}\n{NAME} = {{}}",
            f"2: `{NAME}` is bound here; expected one module-level literal assignment",
        ),
        (
            f"x = {NAME} = {{}}",
            f"1: `{NAME}` is bound here; expected one module-level literal assignment",
        ),
        (
            f"{NAME} = {{}}\n{NAME} |= {{'a': {{}}}}",
            f"2: `{NAME}` is bound here; expected one module-level literal assignment",
        ),
        (
            f"{NAME} = {{}}\n{NAME}['a'] = {{}}",
            f"2: `{NAME}` is changed here; expected one module-level literal assignment",
        ),
        (
            f"{NAME} = {{}}\n{NAME}.update(a={{}})",
            f"2: `{NAME}` is changed here; expected one module-level literal assignment",
        ),
        (f"{NAME} = {{**{{}}}}", f"1: a key of `{NAME}` is computed; expected literal assertion names"),
        (f"{NAME} = {{3: {{}}}}", f"1: a key of `{NAME}` is computed; expected literal assertion names"),
        (f"{NAME} = {{'known': {{}},\n 'known': {{}}}}", "2: `known` is given twice\n  fix: keep one of the two"),
        (f"{NAME} = {{'knwon': {{}}}}", "1: `knwon` is not an exported assertion\n  fix: did you mean `known`?"),
        (f"{NAME} = {{'known': 1}}", "1: `known` is `1`; expected a literal dict"),
        (
            f"{NAME} = {{'known': {{'traces': True}}}}",
            "1: `known` has the field `'traces'`; expected trace, executable, category\n  fix: did you mean `trace`?",
        ),
        (
            f"{NAME} = {{'known': {{**x}}}}",
            "1: `known` has a computed field; expected trace, executable, category",
        ),
        (f"{NAME} = {{'known': {{'trace': 1}}}}", "1: `known.trace` is `1`; expected True or False"),
        (f"{NAME} = {{'known': {{'executable': not 1}}}}", "1: `known.executable` is `not 1`; expected True or False"),
        (
            f"{NAME} = {{'known': {{'trace': True, 'trace': False}}}}",
            "1: `known.trace` is given twice\n  fix: keep one of the two",
        ),
        (
            f"{NAME} = {{'known': {{'category': 'stat'}}}}",
            (
                "1: `known.category` is `'stat'`; expected one of state, path, result, final_answer, unclassified\n"
                "  fix: did you mean `state`?"
            ),
        ),
    ],
)
def test_capability_that_is_no_literal_declaration_is_refused(source: str, message: str) -> None:
    read = read_capabilities(source.encode(), "assertions.py", {"known"})
    assert [problem.code for problem in read.problems] == ["invalid_assertion_capability"]
    line, _, said = message.partition(": ")
    assert str(read.problems[0]) == f"assertions.py:{line}: invalid_assertion_capability: {said}"


def test_all_capability_problems_are_listed_in_source_order() -> None:
    source = f"{NAME} = {{\n 'a': 1,\n 'b': {{'trace': 2, 'x': 1}},\n}}\ndel {NAME}\n"
    assert [problem.line for problem in read_capabilities(source.encode(), "a.py").problems] == [2, 3, 3, 5]


def test_names_are_not_judged_where_the_exports_are_unknown() -> None:
    assert read_capabilities(f"{NAME}: dict = {{'a': {{}}}}".encode(), "a.py").problems == ()


@pytest.mark.parametrize("source", [b"def (", b"\xff", b"\0", b"x = 1", b"", b"(" * 500])
def test_file_without_a_declaration_has_no_capabilities(source: bytes) -> None:
    assert read_capabilities(source, "a.py", set()) == ({}, ())


@given(st.one_of(st.binary(), st.text("ASERTION_CPBLT={}'\":, \n1ab.").map(lambda tail: f"{NAME} = {tail}".encode())))
def test_any_bytes_are_read_without_an_exception(source: bytes) -> None:
    for problem in read_capabilities(source, "a.py", {"a"}).problems:
        assert problem.code == "invalid_assertion_capability"
