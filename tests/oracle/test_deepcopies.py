"""A quicker `copy.deepcopy` gives what the plain one does."""

from __future__ import annotations

import contextlib
import copy
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.oracle import deepcopies

pytestmark = pytest.mark.skipif(not hasattr(copy, "_deepcopy_atomic"), reason="Python's own is as quick")

PRIVATE: Any = copy
"""The module with what it does not tell type checkers."""


class Memoed:
    """Copies itself as the documentation of `copy` suggests, by the id that it looks up itself."""

    def __init__(self, inside: Any = None) -> None:
        self.inside = inside

    def __deepcopy__(self, memo: dict[int, Any]) -> Memoed:
        if id(self) in memo:
            return memo[id(self)]
        memo[id(self)] = made = Memoed()
        made.inside = copy.deepcopy(self.inside, memo)
        return made


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3) | st.just(1.5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(max_size=2) | st.tuples(st.integers()), inner)
        | st.tuples(inner, inner)
        | st.builds(Memoed, inner)
    ),
    max_leaves=20,
)


@contextlib.contextmanager
def quickened() -> Iterator[None]:
    """The quicker one in place, and afterwards the plain one again."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in (list, dict):
            patch.setitem(PRIVATE._deepcopy_dispatch, kind, PRIVATE._deepcopy_dispatch[kind])
        deepcopies.quicken()
        assert PRIVATE._deepcopy_dispatch[dict] is not PRIVATE._deepcopy_dict
        yield
    assert PRIVATE._deepcopy_dispatch[dict] is PRIVATE._deepcopy_dict


def both(value: Any) -> tuple[bytes, bytes]:
    """What the plain and the quick one make of a value; pickled, as that tells which parts are one object."""
    plain = pickle.dumps(copy.deepcopy(value))
    with quickened():
        return plain, pickle.dumps(copy.deepcopy(value))


@given(VALUES, VALUES)
def test_values_of_every_kind_are_copied_alike(one: Any, other: Any) -> None:
    plain, quick = both([one, other, {"again": one}, [one, (other,)]])
    assert plain == quick


def test_values_that_hold_themselves_are_copied_alike() -> None:
    rows: list[Any] = ["x"]
    named: dict[Any, Any] = {"rows": rows}
    thing = Memoed(named)
    rows += [rows, named, thing, {"thing": thing}]
    plain, quick = both(named)
    assert plain == quick


class Noted:
    """Notes when it is copied; may stand as a name."""

    def __init__(self, name: str, copied: list[str]) -> None:
        self.name, self._copied = name, copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Noted:
        self._copied.append(self.name)
        return self


def test_what_stands_in_an_object_is_copied_in_the_same_order() -> None:
    copied: list[str] = []
    held = {Noted("name", copied): [Noted("value", copied)], "last": Noted("third", copied)}
    copy.deepcopy(held)
    plain = [*copied]
    copied.clear()
    with quickened():
        copy.deepcopy(held)
    assert copied == plain == ["value", "name", "third"]


def test_what_cannot_be_copied_is_refused_alike() -> None:
    refused = {"a": [(one for one in ())]}
    with pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        copy.deepcopy(refused)
    with quickened(), pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        copy.deepcopy(refused)


def test_a_copier_that_the_pack_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {list: lambda value, memo: value, dict: lambda value, memo: {}}
    for kind, copier in chosen.items():
        monkeypatch.setitem(PRIVATE._deepcopy_dispatch, kind, copier)
    deepcopies.quicken()
    assert {kind: PRIVATE._deepcopy_dispatch[kind] for kind in chosen} == chosen


@pytest.mark.parametrize(
    "own", [{}, {"_deepcopy_dispatch": {}}, {"_deepcopy_dispatch": {dict: 1}, "_deepcopy_atomic": 2}]
)
def test_a_module_of_the_packs_own_is_left_as_it_is(own: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("copy")
    vars(module).update(own)
    before = {name: dict(value) if isinstance(value, dict) else value for name, value in own.items()}
    monkeypatch.setitem(sys.modules, "copy", module)
    deepcopies.quicken()
    assert {name: vars(module)[name] for name in own} == before


def test_a_copier_that_the_pack_replaced_in_the_module_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(PRIVATE._deepcopy_dispatch)
    for kind in ("list", "dict"):
        monkeypatch.setattr(copy, f"_deepcopy_{kind}", lambda value, memo: value)
    deepcopies.quicken()
    assert before == PRIVATE._deepcopy_dispatch


COUNT = """
import sys
from bfcl.oracle import deepcopies
import copy
rows = [{"a": "x", "b": 1, "c": None} for _ in range(100)]
seen = []
sys.addaudithook(lambda event, arguments: seen.append(event) if event == "builtins.id" else None)
copy.deepcopy(rows)
plain = len(seen)
deepcopies.quicken()
copy.deepcopy(rows)
print(plain, len(seen) - plain)
"""


def test_texts_and_numbers_bring_no_audited_events() -> None:
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    plain, quick = map(int, done.stdout.split())
    assert plain == quick + 600  # a name and a value for each of three members


def test_a_pack_without_copy_is_left_without_it() -> None:
    script = (
        "import sys; sys.modules.pop('copy', None); from bfcl.oracle import deepcopies; sys.modules.pop('copy', None); "
    )
    script += "deepcopies.quicken(); print('copy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
