"""Laws of every format: what rows say survives the way to the disk and back, to the last type."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.canonical import Json
from bfcl.exports.format import truth_of
from bfcl.exports.formats import FORMATS
from bfcl.exports.read_back import digests_of, read_tree
from tests.exports.staged import decoded, edited, plain_row, row_with_arguments, rows, tree

NAMES = ("bfcl_json", "hugging_face", "inspect_ai", "nemo_evaluator_bundle", "openai_chat_jsonl")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["bar", "valve", "größe"]), VALUES)


def test_formats_are_those_of_the_contract_and_those_on_request() -> None:
    assert tuple(FORMATS) == NAMES


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arguments=ARGUMENTS, said=TEXTS)
def test_rows_survive_the_way_to_the_disk_and_back(name: str, arguments: Mapping[str, Json], said: str) -> None:
    table = [edited(row_with_arguments(arguments), ["messages", -1, "content"], said), plain_row()]
    form = FORMATS[name]
    with tempfile.TemporaryDirectory() as directory:
        for file, data in tree(form, table).items():
            path = Path(directory, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        found = read_tree(form, Path(directory), [digests_of(truth_of(decoded(each))) for each in table])
    assert (found.rows, found.failures, found.unreadable) == (2, (), None)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_are_the_same_every_time(name: str) -> None:
    table = [*rows(3), plain_row()]
    assert tree(FORMATS[name], table) == tree(FORMATS[name], table)
