from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.schemas import export_schemas
from bfcl.errors import ConfigError
from bfcl.pack.schema_files import NAMES, file_name, schema_bytes


def test_export_writes_every_schema_as_shipped(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "schemas"
    done = export_schemas(out, force=False)
    assert [path.name for path in done.written] == [file_name(name) for name in NAMES]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        file_name(name): schema_bytes(name) for name in NAMES
    }


def test_export_again_leaves_equal_files_alone(tmp_path: Path) -> None:
    export_schemas(tmp_path, force=False)
    before = {path: path.stat().st_ino for path in tmp_path.iterdir()}
    done = export_schemas(tmp_path, force=False)
    assert done.written == []
    assert {path: path.stat().st_ino for path in tmp_path.iterdir()} == before


def test_export_refuses_every_file_that_differs_and_writes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tools", "manifest"):
        (tmp_path / file_name(name)).write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        export_schemas(tmp_path, force=False)
    assert [str(problem) for problem in caught.value.problems] == [
        f"{file_name(name)}: schema_file_differs: is there already with other content; nothing was written\n"
        "  fix: choose another directory, or add `--force`"
        for name in ("manifest", "tools")
    ]
    assert len(list(tmp_path.iterdir())) == 2


def test_export_overwrites_when_forced_but_never_a_directory(tmp_path: Path) -> None:
    (tmp_path / file_name("tools")).write_text("{}", encoding="utf-8")
    assert len(export_schemas(tmp_path, force=True).written) == len(NAMES)
    (tmp_path / file_name("tools")).unlink()
    (tmp_path / file_name("tools")).mkdir()
    with pytest.raises(ConfigError):
        export_schemas(tmp_path, force=True)
