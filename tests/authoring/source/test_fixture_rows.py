from __future__ import annotations

from pathlib import Path

from bfcl.errors import PackError
from tests.authoring.source.sources import checked, told


def test_fixtures_of_one_row_or_none_are_advice(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {"fixtures.json": '{"b": [{}],\n"a": []}'})
    assert verdict.collections == ("a", "b")
    tail = "with two or more it shows whether an answer depends on its argument"
    assert told(verdict) == [
        f"fixtures.json:1: collection_too_small (weakens_evidence): `b` has one row; {tail}",
        f"fixtures.json:2: collection_too_small (weakens_evidence): `a` has no row; {tail}",
    ]
    assert verdict.blocking == ()


def test_fixtures_that_are_no_rows_are_advice(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {"fixtures.json": '{"hours": "9-17",\n"mixed": [{}, 1]}'})
    tail = "an array of objects can be drawn from, this is only handed on"
    assert told(verdict) == [
        f'fixtures.json:1: collection_not_rows (weakens_evidence): `hours` is "9-17"; {tail}',
        f"fixtures.json:2: collection_not_rows (weakens_evidence): `mixed` is [{{}}, 1]; {tail}",
    ]
    assert verdict.blocking == ()


def test_fixtures_that_are_no_object_block(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {"fixtures.json": "[1]"})
    assert told(verdict) == [
        "fixtures.json:1: fixture_shape_invalid (blocks_intake): the file holds [1]; expected an object of collections"
    ]
    assert (verdict.collections, verdict.blocking) == ((), ("fixture_shape_invalid",))


def test_fixtures_with_a_key_twice_are_refused(tmp_path: Path) -> None:
    try:
        checked(tmp_path, {"fixtures.json": '{"a": [],\n"a": []}'})
    except PackError as error:
        (problem,) = error.problems
    assert (problem.code, problem.path, problem.line) == ("fixture_metadata_invalid", "source/fixtures.json", 2)
