"""Which files does an evaluation have in doit's eyes? Rule: evaluation.md §1."""

from __future__ import annotations

from typing import NamedTuple


class EvalFiles(NamedTuple):
    """The files that an evaluation is made of, and the one that says it is finished; empty where that is unknown."""

    inputs: list[str]
    targets: list[str]
