"""The Croissant document, as far as it can be judged without its reader."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from bfcl.digest import Digest
from bfcl.exports.croissant import croissant
from bfcl.tables.benchmark import benchmark_schema
from tests.exports.staged import SOURCE

DIGEST = Digest("sha256:" + "ab" * 32)


def document(rows: int = 2) -> dict[str, Any]:
    return cast(
        "dict[str, Any]", croissant(dataclasses.replace(SOURCE, rows=rows), "data/t.parquet", DIGEST, "Two rows.")
    )


def fields(of: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in of}


def test_document_names_the_file_by_its_hash() -> None:
    assert document()["distribution"] == [
        {
            "@type": "cr:FileObject",
            "@id": "data/t.parquet",
            "name": "data/t.parquet",
            "contentUrl": "data/t.parquet",
            "encodingFormat": "application/x-parquet",
            "sha256": "ab" * 32,
        }
    ]


def test_document_says_what_is_known_and_nothing_of_the_day_or_the_licence() -> None:
    known = {key: value for key, value in document().items() if key not in ("@context", "distribution", "recordSet")}
    assert known == {
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": "plant",
        "description": "Two rows.",
        "version": "1.0",
        "keywords": ["function calling", "tool use", "benchmark"],
        "isLiveDataset": False,
    }


def test_record_set_has_every_column_in_order() -> None:
    (records,) = document(rows=7)["recordSet"]
    assert records["description"] == "7 conversations, one a row."
    assert records["key"] == {"@id": "rows/task_id"}
    assert [field["name"] for field in records["field"]] == benchmark_schema().names
    named = fields(records["field"])
    assert {name: named[name]["dataType"] for name in ("task_id", "variant_index", "seed", "gold_eligible")} == {
        "task_id": "sc:Text",
        "variant_index": "cr:Int32",
        "seed": "cr:UInt64",
        "gold_eligible": "sc:Boolean",
    }
    assert named["fixture_refs"] == {
        "@type": "cr:Field",
        "@id": "rows/fixture_refs",
        "name": "fixture_refs",
        "isArray": True,
        "arrayShape": "-1",
        "dataType": "sc:Text",
        "source": {"fileObject": {"@id": "data/t.parquet"}, "extract": {"column": "fixture_refs"}},
    }


def test_lists_of_records_are_described_one_level_deep() -> None:
    named = fields(document()["recordSet"][0]["field"])
    assert list(fields(named["messages"]["subField"])) == ["role", "content", "tool_call_id"]
    assert named["messages"]["description"] == (
        "Records; what the file holds of them in tool_calls is not described here."
    )
    calls = named["expected_tool_calls"]
    assert list(fields(calls["subField"])) == ["turn_index", "call_group", "position_in_group", "function_name"]
    assert calls["subField"][0]["source"] == {
        "fileObject": {"@id": "data/t.parquet"},
        "extract": {"column": "expected_tool_calls"},
        "transform": {"jsonPath": "turn_index"},
    }
    assert "dataType" not in calls
