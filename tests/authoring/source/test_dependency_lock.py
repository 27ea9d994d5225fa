from __future__ import annotations

import json
from pathlib import Path

import pytest

from bfcl.authoring.source.dependency_lock import EMPTY_LOCK, Lock, read_lock
from tests.authoring.source.sources import write_source

DIGEST = "sha256:" + "0" * 64
ENTRY = {"import_name": "yaml", "distribution": "PyYAML", "version": "6.0", "artifact_digest": DIGEST}


def lock(root: Path, content: object, **fields: object) -> Lock:
    value = content if fields == {} else {"schema_version": "bfcl-python-dependency-lock-v1", **fields}
    return read_lock(write_source(root, {"dependency-lock.json": json.dumps(value, indent=1)}))


def test_lock_reads_sorted_entries(tmp_path: Path) -> None:
    found = lock(tmp_path, None, dependencies=[{**ENTRY, "import_name": "attr"}, ENTRY])
    assert found == Lock(frozenset({"attr", "yaml"}), ())


def test_lock_written_empty_is_read_without_a_finding(tmp_path: Path) -> None:
    tree = write_source(tmp_path, {"dependency-lock.json": EMPTY_LOCK})
    assert read_lock(tree) == Lock(frozenset(), ())
    assert EMPTY_LOCK.decode() == (
        '{\n  "dependencies": [],\n  "schema_version": "bfcl-python-dependency-lock-v1"\n}\n'
    )


@pytest.mark.parametrize(
    ("dependencies", "told"),
    [
        ({}, "3: `dependencies` is {}; expected a list"),
        ([1], "4: dependency 0: the value is 1; expected an object"),
        ([{**ENTRY, "hash": "x"}], "9: dependency 0: unknown key `hash`; use one of artifact_digest, distribution, "),
        (
            [{**ENTRY, "artifact_digest": "sha256:0"}],
            '8: dependency 0: `artifact_digest` is "sha256:0"; expected `sha256:` and 64 lower-case hex digits',
        ),
        (
            [{**ENTRY, "import_name": "a.b"}],
            '5: dependency 0: `import_name` is "a.b"; expected the name of a top-level module',
        ),
        ([{**ENTRY, "version": ""}], '7: dependency 0: `version` is ""; expected non-empty text'),
        (
            [ENTRY, {**ENTRY, "import_name": "attr"}],
            "11: dependency 1: `import_name` 'attr' follows 'yaml'; expected sorted, unique names",
        ),
        ([ENTRY, ENTRY], "11: dependency 1: `import_name` 'yaml' follows 'yaml'; expected sorted, unique names"),
    ],
)
def test_lock_finds_what_is_misshapen(tmp_path: Path, dependencies: object, told: str) -> None:
    found = lock(tmp_path, None, dependencies=dependencies).findings
    assert [one.code for one in found] == ["dependency_lock_invalid"]
    assert f"{found[0].line}: {found[0].detail}".startswith(told)


def test_lock_finds_every_fault_of_a_lock_of_another_schema(tmp_path: Path) -> None:
    found = lock(tmp_path, {"schema_version": 1, "extra": 2}).findings
    assert [one.detail for one in found] == [
        "unknown key `extra`; use one of dependencies, schema_version",
        '`schema_version` is 1; expected "bfcl-python-dependency-lock-v1"',
        "`dependencies` is null; expected a list",
    ]


def test_lock_finds_a_document_that_is_no_object(tmp_path: Path) -> None:
    assert [one.detail for one in lock(tmp_path, []).findings] == [
        "the value is []; expected an object with `schema_version` and `dependencies`"
    ]
