"""The card of the Hub: front matter, counts, status."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from bfcl.canonical import canonical_text
from bfcl.digest import Digest
from bfcl.exports.dataset_card import CardFacts, about, dataset_card
from bfcl.tables.benchmark import BenchmarkRow, benchmark_schema
from tests.exports.staged import SOURCE, decoded, edited, plain_row, row, rows

DIGEST = Digest("sha256:" + "ab" * 32)


def facts(of: Sequence[BenchmarkRow]) -> CardFacts:
    counted = CardFacts()
    for each in of:
        counted.count(decoded(each))
    return counted


def card(of: Sequence[BenchmarkRow], **source: Any) -> str:
    said = dataclasses.replace(SOURCE, **{"rows": len(of), **source})
    return dataset_card(said, facts(of), "data/t.parquet", DIGEST)


def front(text: str) -> dict[str, Any]:
    empty, header, _ = text.split("---\n", 2)
    assert empty == ""
    found = yaml.safe_load(header)
    assert isinstance(found, dict)
    return found


def spoken(language: str, number: int = 1) -> BenchmarkRow:
    metadata = {
        "language": language,
        "expt_name": "demo",
        "base_task_id": row(number)["task_id"],
        "surface_source": "template",
        "profile_hash": None,
    }
    return edited(row(number), ["metadata"], canonical_text(metadata))


def test_front_matter_is_what_the_hub_reads() -> None:
    assert front(card(rows(2))) == {
        "pretty_name": "plant 1.0",
        "language": ["en"],
        "license": "unknown",
        "task_categories": ["text-generation"],
        "tags": ["function-calling", "tool-use", "benchmark", "evaluation"],
        "size_categories": ["n<1K"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "data/t.parquet"}]}],
    }


@pytest.mark.parametrize(
    ("tags", "language", "bcp47"),
    [
        (["vi"], ["vi"], None),
        (["vi", "en"], ["en", "vi"], None),
        (["pt-BR", "pt-PT"], ["pt"], ["pt-BR", "pt-PT"]),
        (["no"], ["no"], None),
        (["x-klingon"], None, ["x-klingon"]),
    ],
)
def test_front_matter_names_languages_as_codes_and_keeps_longer_tags(
    tags: list[str], language: list[str] | None, bcp47: list[str] | None
) -> None:
    found = front(card([spoken(tag, number) for number, tag in enumerate(tags, 1)]))
    assert (found.get("language"), found.get("language_bcp47")) == (language, bcp47)


@pytest.mark.parametrize(
    ("count", "size"),
    [
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (10_000, "10K<n<100K"),
        (1_000_000, "1M<n<10M"),
        (99_999_999, "10M<n<100M"),
        (100_000_000, "100M<n<1B"),
    ],
)
def test_front_matter_tells_the_size(count: int, size: str) -> None:
    assert front(card(rows(1), rows=count))["size_categories"] == [size]


def test_about_counts_rows_calls_and_tools() -> None:
    table = [*rows(2), plain_row()]
    assert about(dataclasses.replace(SOURCE, rows=3), facts(table)) == (
        "Function-calling benchmark of the oracle pack plant 1.0, run demo. Conversations: 3 (2 with several user "
        "turns, 1 with no call expected). Expected tool calls: 6. Tools: 3."
    )


def test_card_counts_what_rows_are() -> None:
    lines = card([*rows(2), plain_row()]).splitlines()
    at = lines.index("## Contents")
    assert lines[at + 2 : at + 9] == [
        "| | value | rows |",
        "|---|---|---:|",
        "| turn policy | confirmation | 3 |",
        "| category | valves | 3 |",
        "| difficulty | easy | 2 |",
        "| difficulty | not stated | 1 |",
        "| language | en | 3 |",
    ]


def test_card_counts_the_checks_rows_passed() -> None:
    unasserted = edited(row(2), ["validated_by"], ["schema", "replay"])
    text = card([row(1), unasserted])
    assert "- schema, 2 of 2 rows: " in text
    assert "- replay, 2 of 2 rows: " in text
    assert "- assertions, 1 of 2 rows: " in text


def test_card_explains_every_column() -> None:
    lines = card(rows(1)).splitlines()
    at = lines.index("## Columns")
    columns = [line.split("|")[1].strip(" `") for line in lines[at + 4 :] if line.startswith("| `")][
        : len(benchmark_schema())
    ]
    assert columns == benchmark_schema().names
    assert "| `seed` | uint64 | seed of the row |" in lines
    assert any("arguments: list of {name: string, value: string}}" in line for line in lines)


@pytest.mark.parametrize(
    ("gold", "line"),
    [
        (True, "Tier of the pack: `gold`. The rows are Gold."),
        (
            False,
            "Tier of the pack: `gold`. **The rows are not Gold: do not publish scores on them as if they were.** Why "
            "is said by `gold_ineligibility_reasons` in the `run_manifest.json` of the run, which is not part of this "
            "dataset.",
        ),
    ],
)
def test_card_says_whether_rows_are_gold(gold: bool, line: str) -> None:
    assert line in card(rows(1), gold_eligible=gold).splitlines()


def test_card_names_the_published_table_and_its_own() -> None:
    lines = card(rows(2)).splitlines()
    assert f"| published table | `benchmark.parquet`, 2 rows, `sha256:{'0' * 64}` |" in lines
    assert f"| this table | `data/t.parquet`, 2 rows, `{DIGEST}` |" in lines


def test_card_escapes_what_markdown_would_read() -> None:
    text = card([edited(row(1), ["category"], "a|b *c*\nd")])
    assert r"| category | a\|b \*c\* d | 1 |" in text.splitlines()


def test_card_leaves_the_licence_to_its_publisher() -> None:
    assert "License, citation and date of publication are not known to the program that wrote this card." in card(
        rows(1)
    )
