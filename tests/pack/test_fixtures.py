from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.errors import PackError
from bfcl.located import parse_json, parse_yaml
from bfcl.pack.fixtures import absent_id_problems, collection_rows, load_fixtures, primary_key
from bfcl.pack.manifest import read_manifest

MANIFEST = replace(
    read_manifest(parse_yaml(b"pack_id: p\nversion: '1'\n", path="manifest.yaml", code="x")).manifest, primary_keys={}
)


def _refusal(name: str, rows: list[dict[str, object]], **primary_keys: str) -> list[tuple[str | None, str]]:
    with pytest.raises(PackError) as caught:
        primary_key(name, rows, replace(MANIFEST, primary_keys=primary_keys))
    return [(problem.field, str(problem)) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("name", "field"),
    [("kilns", "kiln_id"), ("glazes", "glaze_id"), ("batches", "batch_id"), ("clays", "id"), ("berries", "berry_id")],
)
def test_primary_key_is_the_singular_of_the_collection_or_id(name: str, field: str) -> None:
    assert primary_key(name, [{field: "a"}, {field: 2, "note": "x"}], MANIFEST) == field


def test_primary_key_of_the_manifest_wins() -> None:
    manifest = replace(MANIFEST, primary_keys={"firings": "code"})
    assert primary_key("firings", [{"firing_id": 1, "kiln_id": 1, "code": "x"}], manifest) == "code"


def test_primary_key_is_ambiguous_beside_a_foreign_key() -> None:
    assert _refusal("firings", [{"firing_id": 1}, {"firing_id": 2, "kiln_id": 3}]) == [
        (
            "firings",
            (
                "primary_key_ambiguous: rows of `firings` hold `firing_id`, `kiln_id`; "
                "which one identifies a row is not declared\n  fix: declare `primary_keys.firings` in the manifest"
            ),
        )
    ]


@pytest.mark.parametrize(
    ("row", "seen"), [({"zone": "north"}, "no field ending in `_id`"), ({"owner_id": 1}, "only `owner_id`")]
)
def test_primary_key_is_missing_without_a_matching_field(row: dict[str, object], seen: str) -> None:
    assert _refusal("kilns", [row]) == [
        (
            "kilns",
            (
                f"fixture_row_missing_primary_key: rows of `kilns` hold {seen}; "
                "expected one of `id`, `kilns_id`, `kiln_id`\n  fix: declare `primary_keys.kilns` in the manifest"
            ),
        )
    ]


def test_primary_key_problems_of_all_rows_are_listed() -> None:
    rows: list[dict[str, object]] = [{"kiln_id": 1}, {}, {"kiln_id": True}, {"kiln_id": "1"}, {"kiln_id": 1.0}]
    assert _refusal("kilns", rows) == [
        (
            "kilns.1",
            (
                "fixture_row_missing_primary_key: row 1 of `kilns` has no `kiln_id`; expected text or an integer\n"
                "  fix: give the row its key"
            ),
        ),
        (
            "kilns.2.kiln_id",
            (
                "fixture_row_missing_primary_key: row 2 of `kilns` has `kiln_id` true; expected text or an integer\n"
                "  fix: give the row its key"
            ),
        ),
        (
            "kilns.3.kiln_id",
            (
                "duplicate_primary_key: rows 0 and 3 of `kilns` have the same `kiln_id`, as text '1'\n"
                "  fix: give each row its own key"
            ),
        ),
        (
            "kilns.4.kiln_id",
            (
                "fixture_row_missing_primary_key: row 4 of `kilns` has `kiln_id` 1.0; expected text or an integer\n"
                "  fix: give the row its key"
            ),
        ),
    ]


def test_absent_ids_that_exist_are_refused_compared_as_text() -> None:
    manifest = replace(MANIFEST, absent_ids={"kilns": ("K-9", "7")})
    (problem,) = absent_id_problems("kilns", [{"kiln_id": "K-1"}, {"kiln_id": 7}], "kiln_id", manifest)
    assert problem.field == "absent_ids.kilns.1"
    assert str(problem) == (
        "absent_id_exists: `absent_ids.kilns` lists '7', which row 1 of `kilns` carries\n"
        "  fix: list an id that no row has"
    )


def test_collection_rows_are_lists_of_objects_only() -> None:
    fixtures = {"kilns": [{"a": 1}], "none": [], "mixed": [{"a": 1}, 2], "text": "x"}
    assert collection_rows(fixtures, "kilns") == [{"a": 1}]
    assert collection_rows(fixtures, "none") == []
    assert [collection_rows(fixtures, name) for name in ("mixed", "text", "absent")] == [None, None, None]


def test_fixtures_root_must_be_an_object() -> None:
    fixtures, problems = load_fixtures(parse_json(b"\n[1]", path="fixtures.json", code="x"))
    assert fixtures == {}
    assert [str(problem) for problem in problems] == [
        (
            "fixtures.json:2: fixtures_invalid: the value is [1]; "
            "expected an object mapping collection names to arrays of rows"
        )
    ]
