"""Source packages as a whole: the good one, refusals of several files at once, markers, links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bfcl.authoring.source.check import check_source
from bfcl.authoring.source.tree import SourceTree
from bfcl.errors import PackError
from tests.authoring.source.sources import BACKEND, CATALOG, checked, told, write_source


def refused(root: Path, files: dict[str, str | bytes | None]) -> str:
    with pytest.raises(PackError) as caught:
        checked(root, files)
    return str(caught.value)


def test_check_passes_a_good_package_with_exactly_the_documented_keys(tmp_path: Path) -> None:
    assert checked(tmp_path).document() == {
        "status": "pass",
        "source": "source",
        "tools": ("get_kiln",),
        "required_symbols": ("list_tools", "reset", "call_tool", "get_state"),
        "fixture_collections": ("kilns",),
        "findings": [],
        "blocking": (),
    }


def test_check_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    checked(tmp_path, {"backend.py": f"{BACKEND}\n__import__('pathlib').Path({str(mark)!r}).touch()\n"})
    assert not mark.exists()


def test_check_passes_a_package_without_fixtures(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {"fixtures.json": None})
    assert (verdict.findings, verdict.collections) == ((), ())


def test_check_advises_where_the_lock_is_missing_and_blocks_when_strict(tmp_path: Path) -> None:
    verdict = checked(tmp_path, {"dependency-lock.json": None})
    assert verdict.blocking == ()
    assert told(verdict) == [
        "dependency-lock.json: dependency_lock_missing (risks_failure): there is no dependency lock, and intake asks "
        'for one; without third-party modules it is {"dependencies":[],'
        '"schema_version":"bfcl-python-dependency-lock-v1"}'
    ]
    strict = checked(tmp_path, {"dependency-lock.json": None}, strict=True)
    assert strict.blocking == ("dependency_lock_missing",)
    assert strict.document()["status"] == "blocked"


def test_check_names_every_file_that_cannot_be_parsed_at_once(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "backend.py": "import kilns\ndef f(:\n",
        "kilns.py": b"# \xff\n",
        "fixtures.json": "{",
        "tools.json": "[]",
        "dependency-lock.json": "{]",
    }
    assert refused(tmp_path, files) == (
        "source/tools.json:1: reviewed_schema_invalid: the value is []; expected a non-empty array of tools\n"
        "source/dependency-lock.json:1: dependency_lock_invalid: not JSON: "
        "Expecting property name enclosed in double quotes\n"
        "source/fixtures.json:1: fixture_metadata_invalid: not JSON: "
        "Expecting property name enclosed in double quotes\n"
        "source/backend.py:2: source_syntax_invalid: not Python: invalid syntax"
    )


def test_check_refuses_a_package_without_backend_and_catalog(tmp_path: Path) -> None:
    assert refused(tmp_path, {"backend.py": None, "tools.json": None}) == (
        "source/tools.json: reviewed_schema_missing: does not exist\n"
        "  fix: put the reviewed tool catalog there, or name it with `--tools`\n"
        "source/backend.py: source_package_invalid: does not exist; a source package has its four functions there\n"
        "  fix: write it, or let `bfcl scaffold-source-package` write a skeleton"
    )


@pytest.mark.parametrize(("content", "said"), [(None, "does not exist"), ("", "is not a directory")])
def test_check_refuses_what_is_no_directory(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "source").write_text(content)
    with pytest.raises(PackError) as caught:
        check_source(SourceTree(root=tmp_path / "source", label="source"))
    assert str(caught.value) == (
        f"source: source_package_invalid: {said}\n  fix: name the directory that holds `backend.py`"
    )


def test_check_takes_a_catalog_from_elsewhere(tmp_path: Path) -> None:
    tree = write_source(tmp_path, {"tools.json": None})
    catalog = tmp_path / "reviewed.json"
    catalog.write_text(json.dumps(CATALOG))
    assert check_source(tree, catalog=catalog).findings == ()


def test_check_lists_every_line_with_a_marker_one_finding_a_file(tmp_path: Path) -> None:
    files = {
        "backend.py": f"import kilns\n# BFCL-TODO\n{BACKEND}# BFCL-TODO twice BFCL-TODO\n",
        "kilns.py": "\f# BFCL-TODO\n",
        "fixtures.json": '{"kilns": [{"a": "BFCL-TODO-replace-1"},\n{"a": "BFCL-TODO-replace-2"}]}',
        "unreferenced.py": "# BFCL-TODO",
    }
    verdict = checked(tmp_path, files)
    tail = "; decide what each says, then remove the marker"
    assert told(verdict) == [
        f"backend.py:2: review_marker_present (blocks_intake): lines 2, 22 still hold `BFCL-TODO`{tail}",
        f"fixtures.json:1: review_marker_present (blocks_intake): lines 1, 2 still hold `BFCL-TODO`{tail}",
        f"kilns.py:1: review_marker_present (blocks_intake): line 1 still holds `BFCL-TODO`{tail}",
    ]
    assert verdict.blocking == ("review_marker_present",)


def test_check_finds_a_marker_in_the_catalog(tmp_path: Path) -> None:
    catalog = json.dumps(CATALOG).replace("Look up one kiln.", "BFCL-TODO")
    assert [(one.file, one.code) for one in checked(tmp_path, {"tools.json": catalog}).findings] == [
        ("tools.json", "review_marker_present")
    ]


def test_check_places_a_marker_in_a_catalog_from_elsewhere_relative_to_the_source(tmp_path: Path) -> None:
    tree = write_source(tmp_path)
    catalog = tmp_path / "reviewed.json"
    catalog.write_text(json.dumps(CATALOG).replace("Look up one kiln.", "BFCL-TODO"))
    assert [(one.file, one.line) for one in check_source(tree, catalog=catalog).findings] == [("../reviewed.json", 1)]


def test_check_finds_symbolic_links_and_still_reads_what_they_name(tmp_path: Path) -> None:
    tree = write_source(tmp_path, {"backend.py": f"import kilns\nimport os\n{BACKEND}"})
    (tmp_path / "kilns.py").write_text("eval('1')\n")
    (tree.root / "kilns.py").symlink_to(tmp_path / "kilns.py")
    (tree.root / "fixtures.json").rename(tmp_path / "fixtures.json")
    (tree.root / "fixtures.json").symlink_to(tmp_path / "fixtures.json")
    tail = "is a symbolic link; a source package holds its own files: copy the file here"
    assert told(check_source(tree)) == [
        "backend.py:2: execution_policy_violation (blocks_all_probes): `os` is imported, which is not permitted; "
        "instead: rows of `fixtures.json` arrive in `reset`",
        f"fixtures.json: source_path_escape (blocks_intake): `fixtures.json` {tail}",
        f"kilns.py: source_path_escape (blocks_intake): `kilns.py` {tail}",
        "kilns.py:1: dynamic_import (blocks_intake): `eval` may bring in code that no reader of the file sees; "
        "write that code out",
        "kilns.py:1: execution_policy_violation (blocks_all_probes): `eval` is called; instead: "
        "a dict from names to functions, `json.loads` for data",
    ]
