"""The oracle view: what a pack's own code may see of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.graph.layout import BuildTree
from bfcl.graph.store import Store
from bfcl.graph.view import oracle_spec, store_view
from bfcl.pack.load import load_pack
from tests.packs import BACKEND, append, drop, run_config, write_pack


def address(root: Path, store: Store, **config: object) -> str:
    settings = run_config(root, **config)
    return store_view(store, load_pack(settings, project=root.parent))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(BuildTree(tmp_path / "project"))


def test_view_holds_the_pack_but_for_templates_and_cases(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack", append("README.md", "more"))
    (root / "lib").mkdir()
    (root / "lib" / "rules.py").write_text("X = 1\n")
    entry = store.find(address(root, store))
    assert entry is not None
    assert sorted(entry.files) == [
        "tree/README.md",
        "tree/assertions.py",
        "tree/backend.py",
        "tree/fixtures.json",
        "tree/lib/rules.py",
        "tree/manifest.yaml",
        "tree/tools.json",
    ]
    for name in entry.files:
        assert entry.file(name).read_bytes() == (root / name.removeprefix("tree/")).read_bytes()


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("task_templates.yaml", True),
        ("validation_cases.yaml", True),
        ("README.md", False),
        ("backend.py", False),
        ("manifest.yaml", False),
    ],
)
def test_only_hidden_files_leave_the_address_alone(tmp_path: Path, store: Store, name: str, same: bool) -> None:
    root = write_pack(tmp_path / "pack")
    before = address(root, store)
    write_pack(root, append(name, "\n# a remark\n"))
    assert (address(root, store) == before) is same


def test_view_of_the_same_pack_elsewhere_has_the_same_address(tmp_path: Path, store: Store) -> None:
    one = address(write_pack(tmp_path / "a" / "pack"), store)
    assert address(write_pack(tmp_path / "b" / "pack"), store) == one


def test_backend_declared_outside_the_pack_is_shown_apart(tmp_path: Path, store: Store) -> None:
    outside = tmp_path / "shared" / "oracle.py"
    outside.parent.mkdir()
    outside.write_text(BACKEND)
    root = write_pack(tmp_path / "pack", drop("backend.py"))
    config = run_config(root, oracle_pack__backend_path=outside.resolve())
    pack = load_pack(config, project=tmp_path)
    entry = store.find(store_view(store, pack))
    assert entry is not None
    spec = oracle_spec(pack, config, entry)
    assert Path(spec.backend).read_text() == BACKEND
    assert Path(spec.backend).name == "oracle.py"
    assert not Path(spec.backend).is_relative_to(spec.view)
    assert spec.assertions == str(entry.path / "tree" / "assertions.py")


def test_spec_carries_clock_fixtures_and_limits(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack")
    config = run_config(root, oracle_runtime__tool_timeout_s=1.5)
    pack = load_pack(config, project=tmp_path)
    entry = store.find(store_view(store, pack))
    assert entry is not None
    spec = oracle_spec(pack, config, entry)
    assert spec.view == str(entry.path / "tree")
    assert spec.backend == str(entry.path / "tree" / "backend.py")
    assert spec.clock == config.oracle_runtime.clock
    assert spec.tool_timeout_s == 1.5
    assert spec.fixtures is not None
    assert '"K-1"' in spec.fixtures


def test_file_that_moved_since_the_pack_was_loaded_is_drift(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack")
    pack = load_pack(run_config(root), project=tmp_path)
    (root / "README.md").write_text("edited")
    with pytest.raises(DriftError) as caught:
        store_view(store, pack)
    assert str(caught.value) == (
        "pack_drift: tree/README.md: changed while the pack was being read\n"
        "  fix: run the same command again when nobody edits the pack"
    )
    assert list(store.tree.root.iterdir()) == []
