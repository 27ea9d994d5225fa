"""How a release's root inputs that moved are named."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.graph.changed_inputs import changed_inputs

BEFORE: dict[str, Any] = {
    "contract": "bfcl-publication/1",
    "config": {"random_seed": 7, "oracle_runtime": {"clock": "a", "worker": "process"}},
    "pack": {"tree/b.json": "1", "tree/a.json": "1", "declared/x": "1"},
    "pack_oddities": ["link"],
    "package": {"stages/render.py": "1"},
    "python": "3.11",
    "pyarrow": "20.0.0",
    "reference_samples": None,
}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({}, []),
        ({"config": {"random_seed": 8, "oracle_runtime": {"clock": "b", "worker": "process"}}},
         ["configuration `oracle_runtime.clock`", "configuration `random_seed`"]),
        ({"pack": {"tree/b.json": "2", "tree/c.json": "1", "declared/x": "1"}},
         ["pack file `tree/a.json` removed", "pack file `tree/b.json` changed", "pack file `tree/c.json` added"]),
        ({"package": {}}, ["program file `stages/render.py` removed"]),
        ({"python": "3.12", "pyarrow": "21.0.0"}, ["pyarrow (20.0.0, now 21.0.0)", "Python (3.11, now 3.12)"]),
        ({"reference_samples": "1"}, ["the reference samples"]),
        ({"pack_oddities": ["link", "pipe"]}, ['links, special files and refused directories in the pack ("pipe")']),
        ({"contract": "bfcl-publication/2"}, ["contract"]),
        ({"config": None}, ["configuration ``"]),
    ],
)  # fmt: skip
def test_changed_inputs_are_named_by_what_they_are(edit: dict[str, Any], told: list[str]) -> None:
    assert changed_inputs(BEFORE, {**BEFORE, **edit}) == told
