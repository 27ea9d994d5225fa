"""Which code a result depends on: the declared roots and everything they import, as the syntax tree sees it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from bfcl.checks.validate import CHECKS
from bfcl.graph import keys, sources
from bfcl.graph.sources import PACKAGE, ROOTS, STARTER, closure, code_digest, imported, package_files, schema_files
from bfcl.stages import STAGES


def module_path(name: str) -> Path:
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def tree_imports(name: str) -> set[str]:
    """The own modules a module imports anywhere in it, from its syntax tree."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module_path(name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] == "bfcl"}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "bfcl":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if module_path(inner).is_file() else node.module)
    return found


MODULES = sorted({module for roots in ROOTS.values() for module in closure(roots)})


@pytest.mark.parametrize("module", MODULES)
def test_imports_read_as_text_miss_nothing_of_the_syntax_tree(module: str) -> None:
    missed = tree_imports(module) - set(imported(module))
    assert missed == set()


@pytest.mark.parametrize("kind", ROOTS)
def test_closure_holds_its_roots_and_what_they_import(kind: str) -> None:
    found = closure(ROOTS[kind])
    assert found == sorted(set(found))
    assert set(ROOTS[kind]) <= set(found)
    assert all(set(imported(module)) <= set(found) for module in found)


def test_every_stored_kind_has_roots() -> None:
    assert {stage.name for stage in STAGES} | {"merge", "prepare", "oracle_view", "validation"} == set(ROOTS)
    assert set(keys._SHARD_PARTS) == {stage.name for stage in STAGES if stage.sharded}


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES if stage.sharded])
def test_stage_code_holds_the_module_of_the_stage(stage: str) -> None:
    assert f"bfcl.stages.{stage}" in closure(ROOTS[stage])


def test_wording_does_not_depend_on_the_oracle_and_replays_do() -> None:
    def rooms(kind: str) -> set[str]:
        return {module.split(".")[1] for module in closure(ROOTS[kind])}

    assert "oracle" not in rooms("expand") | rooms("state_machine") | rooms("render")
    assert "oracle" in rooms("executable_replay")
    assert "oracle" in rooms("expected_trace")
    assert all("graph" not in rooms(kind) for kind in ROOTS if kind != "oracle_view")


def test_validation_depends_on_every_check_the_loader_and_the_oracle() -> None:
    found = set(closure(ROOTS["validation"]))
    assert {check.run.__module__ for check in CHECKS} <= found
    assert {"bfcl.pack.load", "bfcl.oracle.worker", "bfcl.oracle.child", "bfcl.oracle.view"} <= found


def test_code_digest_changes_with_any_module_of_the_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_digest("render")
    genuine = sources.blake3_file

    def other(path: Path) -> object:
        return "changed" if path.name == "wording.py" else genuine(path)

    monkeypatch.setattr(sources, "blake3_file", other)
    code_digest.cache_clear()
    try:
        assert code_digest("render") != before
        assert code_digest("merge") != before
    finally:
        monkeypatch.undo()
        code_digest.cache_clear()
    assert code_digest("render") == before


def test_code_digest_changes_with_a_schema_of_a_room_that_the_closure_enters(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {kind: code_digest(kind) for kind in ROOTS}
    genuine = sources.blake3_file

    def other(path: Path) -> object:
        return "changed" if path.name == "task_templates.schema.json" else genuine(path)

    monkeypatch.setattr(sources, "blake3_file", other)
    code_digest.cache_clear()
    try:
        changed = {kind for kind in ROOTS if code_digest(kind) != before[kind]}
    finally:
        monkeypatch.undo()
        code_digest.cache_clear()
    assert {"prepare", "validation", "final_output"} <= changed
    assert {"merge", "reference_profile", "executable_replay"}.isdisjoint(changed)


def test_schemas_of_a_closure_are_those_of_its_rooms() -> None:
    found = schema_files(["bfcl.errors", "bfcl.pack.load"])
    assert found == sorted((PACKAGE / "pack" / "schemas").glob("*.json"))
    assert found
    assert schema_files(["bfcl.errors", "bfcl.stages.expand"]) == []


def test_package_files_are_sources_and_schemas() -> None:
    found = package_files()
    assert list(found) == sorted(found)
    assert PACKAGE / "errors.py" in found
    assert {path.suffix for path in found} == {".py", ".json"}
    assert not any(STARTER in path.parents for path in found)
