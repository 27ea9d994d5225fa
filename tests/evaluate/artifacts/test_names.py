"""The files of a finished evaluation."""

from __future__ import annotations

from bfcl.evaluate.artifacts.names import ARTIFACTS, CACHES


def test_names_of_caches_are_names_of_artifacts_and_no_file_stands_twice() -> None:
    assert set(CACHES) <= ARTIFACTS.keys()
    assert len(set(ARTIFACTS.values())) == len(ARTIFACTS)
