"""Exports in the packages they are for: `datasets`, the Croissant reader, and the types of OpenAI's client."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bfcl.exports import hugging_face, openai_chat_jsonl
from bfcl.tables.benchmark import BenchmarkRow, benchmark_schema
from tests.exports.staged import plain_row, rows, tree
from tests.system.package_venv import package_venv

REQUIREMENTS = ["datasets==5.2.0", "mlcroissant==1.1.1", "openai==3.57.0", "pyarrow==26.0.1"]
READERS = Path(__file__).resolve().parents[1] / "exports" / "hub_readers.py"

ROWS = [*rows(2), plain_row()]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What every package reads."""
    python = package_venv("hub", REQUIREMENTS)
    directory = tmp_path_factory.mktemp("hub")
    formats = (hugging_face.FORMAT, openai_chat_jsonl.FORMAT)
    for form in formats:
        for name, data in tree(form, ROWS).items():
            path = directory / form.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    home = str(directory / "home")
    done = subprocess.run(
        [python, READERS, *(directory / form.name for form in formats)],
        env={"PATH": os.environ["PATH"], "HOME": home, "HF_HOME": home, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_datasets_reads_the_repository_as_it_is(seen: dict[str, Any]) -> None:
    assert seen["datasets"]["columns"] == benchmark_schema().names
    assert [paired(each) for each in seen["datasets"]["rows"]] == ROWS


def paired(of: dict[str, Any]) -> BenchmarkRow:
    """A row as published: arguments as pairs."""
    for call in of["expected_tool_calls"]:
        call["arguments"] = [(one["name"], one["value"]) for one in call["arguments"]]
    return of  # type: ignore[return-value]


def test_croissant_reader_finds_no_error_and_misses_what_only_a_publisher_knows(seen: dict[str, Any]) -> None:
    missing = [warning.partition('Property "')[2].partition('"')[0] for warning in seen["croissant"]["warnings"]]
    assert [name.rpartition("/")[2] for name in missing if not name.endswith("/version")] == [
        "citeAs",
        "datePublished",
        "license",
    ]


def test_croissant_reader_yields_the_rows(seen: dict[str, Any]) -> None:
    deep = {"messages": ["tool_calls"], "expected_tool_calls": ["arguments"]}
    wanted = []
    for each in ROWS:
        told: dict[str, Any] = json.loads(json.dumps(each))
        for column, names in deep.items():
            told[column] = [{key: item[key] for key in item if key not in names} for item in told[column]]
        wanted.append(told)
    assert seen["croissant"]["records"] == wanted


def test_client_types_take_every_example_whole(seen: dict[str, Any]) -> None:
    lines = tree(openai_chat_jsonl.FORMAT, ROWS)[openai_chat_jsonl.CONVERSATIONS].decode().splitlines()
    assert seen["openai"] == [json.loads(line) for line in lines]


def test_datasets_reads_examples_of_all_kinds(seen: dict[str, Any]) -> None:
    assert [[message["role"] for message in messages] for messages in seen["examples"]] == [
        [message["role"] for message in each["messages"]] for each in ROWS
    ]
