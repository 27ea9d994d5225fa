"""The oracle view: what a pack's own code may see of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.graph.layout import BuildTree
from bfcl.graph.store import Store
from bfcl.graph.view import store_view
from bfcl.oracle.view import oracle_spec
from bfcl.pack.load import load_pack
from tests.packs import BACKEND, FIXTURES, append, drop, dump, held_out, put, run_config, text, write_pack


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
        ("lib.py", False),
        ("backend.py", False),
        ("manifest.yaml", False),
    ],
)
def test_only_hidden_files_leave_the_address_alone(tmp_path: Path, store: Store, name: str, same: bool) -> None:
    root = write_pack(tmp_path / "pack", text("lib.py", "X = 1\n"))
    before = address(root, store)
    write_pack(root, text("lib.py", "X = 1\n"), append(name, "\n# a remark\n"))
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
    spec = oracle_spec(pack, config, entry.path)
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
    spec = oracle_spec(pack, config, entry.path)
    assert spec.view == str(entry.path / "tree")
    assert spec.backend == str(entry.path / "tree" / "backend.py")
    assert spec.clock == config.oracle_runtime.clock
    assert spec.tool_timeout_s == 1.5
    assert spec.fixtures is not None
    assert '"K-1"' in spec.fixtures


def test_file_that_moved_since_the_pack_was_loaded_is_drift(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack")
    pack = load_pack(run_config(root), project=tmp_path)
    (root / "backend.py").write_text("edited")
    with pytest.raises(DriftError) as caught:
        store_view(store, pack)
    assert str(caught.value) == (
        "pack_drift: tree/backend.py: changed while the pack was being read\n"
        "  fix: run the same command again when nobody edits the pack"
    )
    assert list(store.tree.root.iterdir()) == []


# --- held-out policies ----------------------------------------------------------------------------------------------

HIDDEN = held_out({"kilns": ["K-3"]}, fixtures_in_backend_state=False)
LEFT = {**FIXTURES, "kilns": FIXTURES["kilns"][:2]}


def test_held_out_file_is_not_shown(tmp_path: Path, store: Store) -> None:
    before = address(write_pack(tmp_path / "one" / "pack", put("manifest.yaml", ("x-none",), 1)), store)
    entry = store.find(address(write_pack(tmp_path / "pack", held_out({"kilns": ["K-3"]})), store))
    assert entry is not None
    assert entry.fp != before  # the manifest differs
    assert "tree/held_out.yaml" not in entry.files
    assert json.loads(entry.file("tree/fixtures.json").read_bytes()) == FIXTURES


def test_view_without_reserved_rows_shows_the_rest_in_the_files_own_order(tmp_path: Path, store: Store) -> None:
    entry = store.find(address(write_pack(tmp_path / "pack", HIDDEN), store))
    assert entry is not None
    assert entry.file("tree/fixtures.json").read_text(encoding="utf-8") == dump("fixtures.json", LEFT)


def test_spec_hides_what_the_view_hides(tmp_path: Path) -> None:
    config = run_config(write_pack(tmp_path / "pack", HIDDEN))
    spec = oracle_spec(load_pack(config, project=tmp_path), config, tmp_path)
    assert spec.fixtures is not None
    assert json.loads(spec.fixtures) == LEFT


def test_address_follows_what_is_shown_and_not_the_policy(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "pack"
    hidden = address(write_pack(root, HIDDEN), store)
    seeded = held_out({"kilns": ["K-3"]}, ["kiln_status"], fixtures_in_backend_state=False, seed=9)
    assert address(write_pack(root, seeded), store) == hidden
    others = [
        held_out({"kilns": ["K-3"]}),
        held_out({"kilns": ["K-2"]}, fixtures_in_backend_state=False),
        held_out({}, fixtures_in_backend_state=False),
    ]
    shown, other, empty = (address(write_pack(root, edit), store) for edit in others)
    assert len({hidden, shown, other}) == 3
    assert shown == empty


def test_idle_fixtures_file_in_the_pack_is_not_shown_beside_hidden_rows(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack", HIDDEN, text("small.json", dump("fixtures.json", FIXTURES)))
    entry = store.find(address(root, store, oracle_pack__fixtures_path=(root / "small.json").resolve()))
    assert entry is not None
    assert "tree/fixtures.json" not in entry.files
    assert json.loads(entry.file("tree/small.json").read_bytes()) == LEFT


def test_fixtures_that_moved_since_the_pack_was_loaded_are_drift_though_projected(tmp_path: Path, store: Store) -> None:
    root = write_pack(tmp_path / "pack", HIDDEN)
    pack = load_pack(run_config(root), project=tmp_path)
    (root / "fixtures.json").write_text("{}")
    with pytest.raises(DriftError) as caught:
        store_view(store, pack)
    assert caught.value.problems[0].subject == "tree/fixtures.json"
