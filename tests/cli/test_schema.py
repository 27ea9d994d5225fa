from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bfcl.pack.schema_files import NAMES, file_name, modeline
from tests.packs import write_pack


def test_schema_list_names_every_schema(bfcl: Callable[..., Any]) -> None:
    ended = bfcl("schema", "list", "--format", "text")
    assert [line.split()[0] for line in ended.out.splitlines()] == list(NAMES)
    document = json.loads(bfcl("schema", "list").out)
    assert document["schemas"][0] == {
        "name": "manifest",
        "file": "manifest.schema.json",
        "title": "Oracle pack manifest",
    }


def test_schema_export_writes_where_a_modeline_looks(bfcl: Callable[..., Any], project: Path) -> None:
    pack = write_pack(project / "packs" / "mine")
    ended = bfcl("schema", "export", "--out", "packs/.bfcl/schemas", "--format", "text")
    assert ended.status == 0
    assert ended.out.startswith("wrote packs/.bfcl/schemas/manifest.schema.json\n")
    for name in NAMES:
        assert (pack / modeline(name).partition("$schema=")[2]).is_file()
    assert sorted(path.name for path in (project / "packs" / ".bfcl" / "schemas").iterdir()) == sorted(
        map(file_name, NAMES)
    )


def test_schema_export_again_writes_nothing(bfcl: Callable[..., Any], project: Path) -> None:
    bfcl("schema", "export", "--out", "out")
    document = json.loads(bfcl("schema", "export", "--out", "out").out)
    assert document == {
        "schema_version": "1.0",
        "directory": "out",
        "written": [],
        "unchanged": [file_name(name) for name in NAMES],
    }


def test_schema_export_keeps_what_differs_unless_forced(bfcl: Callable[..., Any], project: Path) -> None:
    (project / "out").mkdir()
    (project / "out" / "tools.schema.json").write_text("{}", encoding="utf-8")
    ended = bfcl("schema", "export", "--out", "out")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "out/tools.schema.json: schema_file_differs: is there already with other content; nothing was written\n"
        "  fix: choose another directory, or add `--force`\n"
    )
    assert bfcl("schema", "export", "--out", "out", "--force").status == 0
