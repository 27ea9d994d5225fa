from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.source.check import check_source
from bfcl.authoring.source.dependency_lock import EMPTY_LOCK
from bfcl.authoring.source.scaffold import SkeletonOptions, SourceScaffold, scaffold_source, write_source
from bfcl.authoring.source.tree import SourceTree
from bfcl.authoring.workbench import workbench
from bfcl.checks.validate import validate_pack
from bfcl.errors import ConfigError, PackError
from tests.packs import ALL_POLICIES, TOOLS, Edit, replace, text, write_pack


def plan(root: Path, tools: Any = TOOLS, options: SkeletonOptions | None = None) -> tuple[SourceTree, SourceScaffold]:
    catalog = root / "tools.json"
    catalog.write_text(json.dumps(tools))
    tree = SourceTree(root=root / "studio", label="studio")
    return tree, scaffold_source(tree, catalog, options or SkeletonOptions(dependency_lock=True))


def content(directory: Path) -> dict[str, bytes]:
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*")}


def test_scaffold_finds_its_own_markers_and_nothing_else(tmp_path: Path) -> None:
    tree, scaffold = plan(tmp_path)
    assert scaffold.document() == {
        "status": "pass",
        "written": ["backend.py", "dependency-lock.json", "fixtures.json"],
        "tools": ("get_firing", "get_kiln", "start_firing"),
        "drafted_with_model": False,
        "review_required": True,
        "findings": [one.document() for one in scaffold.verdict.findings],
        "model_call": None,
        "model": None,
    }
    assert [(one.file, one.code) for one in scaffold.findings] == [
        ("backend.py", "review_marker_present"),
        ("fixtures.json", "review_marker_present"),
    ]
    write_source(tree, scaffold.files)
    assert content(tree.root) == dict(scaffold.files)
    assert check_source(tree, catalog=tmp_path / "tools.json") == scaffold.verdict
    assert scaffold.verdict.blocking == ("review_marker_present",)


def test_scaffold_does_not_depend_on_the_order_of_the_catalog(tmp_path: Path) -> None:
    assert plan(tmp_path)[1].files == plan(tmp_path, TOOLS[::-1])[1].files


def test_scaffold_writes_the_asked_rows_into_the_asked_collection(tmp_path: Path) -> None:
    _, scaffold = plan(tmp_path, options=SkeletonOptions(collection='a"b', rows=1))
    assert json.loads(scaffold.files["fixtures.json"]) == {
        'a"b': [
            {
                "atmosphere": "oxidation",
                "cone": 1,
                "firing_id": "BFCL-TODO-replace-1",
                "kiln_id": "BFCL-TODO-replace-1",
            }
        ]
    }
    assert [one.code for one in scaffold.findings] == [
        "review_marker_present",
        "dependency_lock_missing",
        "collection_too_small",
        "review_marker_present",
    ]


def test_scaffold_advises_on_gated_tools_that_nobody_could_confirm(tmp_path: Path) -> None:
    catalog = json.loads(json.dumps(TOOLS).replace('"confirm"', '"yes"'))
    found = [one for one in plan(tmp_path, catalog)[1].findings if one.code != "review_marker_present"]
    assert [(one.code, one.impact, one.detail) for one in found] == [
        (
            "confirmation_parameter_missing",
            "risks_failure",
            "`start_firing` asks for confirmation and has no parameter `confirm`, so it would wait for ever; name its "
            "parameter with `--confirmation-parameter`",
        )
    ]


def test_scaffold_refuses_what_is_there_before_it_reads_the_catalog(tmp_path: Path) -> None:
    directory = tmp_path / "studio"
    directory.mkdir()
    (directory / "backend.py").write_text("mine")
    (directory / "fixtures.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError) as caught:
        scaffold_source(SourceTree(root=directory, label="studio"), tmp_path / "absent.json", SkeletonOptions())
    tail = "is there already; a scaffold overwrites nothing\n  fix: move it away, or choose another `--output`"
    assert str(caught.value) == (
        f"studio/backend.py: output_exists: {tail}\nstudio/fixtures.json: output_exists: {tail}"
    )
    assert (directory / "backend.py").read_text() == "mine"


def test_scaffold_refuses_an_output_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "studio").write_text("")
    with pytest.raises(ConfigError, match="studio: output_exists: is there already and is no directory"):
        plan(tmp_path)


def test_scaffold_refuses_a_catalog_it_cannot_use_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        plan(tmp_path, [{"function": {"name": "a-b"}}, {}])
    assert [(one.code, one.field) for one in caught.value.problems] == [
        ("reviewed_schema_invalid", "0.function.name"),
        ("reviewed_schema_invalid", "1"),
    ]
    assert not (tmp_path / "studio").exists()


def test_scaffold_keeps_a_lock_that_is_there_and_takes_a_catalog_inside(tmp_path: Path) -> None:
    directory = tmp_path / "studio"
    directory.mkdir()
    kept = EMPTY_LOCK.replace(b"\n", b"")
    (directory / "dependency-lock.json").write_bytes(kept)
    (directory / "tools.json").write_text(json.dumps(TOOLS))
    tree = SourceTree(root=directory, label="studio")
    scaffold = scaffold_source(tree, directory / "tools.json", SkeletonOptions(dependency_lock=True))
    write_source(tree, scaffold.files)
    assert sorted(content(directory)) == ["backend.py", "dependency-lock.json", "fixtures.json", "tools.json"]
    assert (directory / "dependency-lock.json").read_bytes() == kept
    assert sorted(scaffold.files) == ["backend.py", "fixtures.json"]


def test_scaffold_refuses_a_lock_that_is_no_json_before_it_writes(tmp_path: Path) -> None:
    directory = tmp_path / "studio"
    directory.mkdir()
    (directory / "dependency-lock.json").write_text("{")
    with pytest.raises(PackError, match="dependency_lock_invalid"):
        plan(tmp_path)
    assert sorted(content(directory)) == ["dependency-lock.json"]


def test_writing_a_source_takes_everything_back_where_a_file_appeared_meanwhile(tmp_path: Path) -> None:
    tree, scaffold = plan(tmp_path)
    tree.root.mkdir()
    (tree.root / "fixtures.json").write_text("theirs")
    with pytest.raises(ConfigError, match="output_exists: appeared while the package was written") as caught:
        write_source(tree, scaffold.files)
    assert caught.value.problems[0].path == "studio/fixtures.json"
    assert content(tree.root) == {"fixtures.json": b"theirs"}


def test_writing_a_source_takes_directories_back_too(tmp_path: Path) -> None:
    tree = SourceTree(root=tmp_path / "a" / "b", label="b")
    with pytest.raises(TypeError):
        write_source(tree, {"backend.py": b"", "fixtures.json": None})  # type: ignore[dict-item]
    assert not (tmp_path / "a").exists()


FILLED = {
    "get_kiln": """\
    kiln = _find("kilns", "kiln_id", arguments["kiln_id"])
    if kiln is None:
        return _error("not_found", entity="kiln", id=arguments["kiln_id"])
    return {"kiln": copy.deepcopy(kiln)}
""",
    "get_firing": """\
    firing = _find("firings", "firing_id", arguments["firing_id"])
    if firing is None:
        return _error("not_found", entity="firing", id=arguments["firing_id"])
    return {"firing": copy.deepcopy(firing)}
""",
    "start_firing": """\
    kiln = _find("kilns", "kiln_id", arguments["kiln_id"])
    if kiln is None:
        return _error("not_found", entity="kiln", id=arguments["kiln_id"])
    if kiln["status"] != "idle":
        return _error("kiln_busy", entity="kiln", id=arguments["kiln_id"])
    firing_id = f"F-{10 + len(_state['firings'])}"
    firing = {"firing_id": firing_id, "kiln_id": kiln["kiln_id"], "cone": arguments["cone"], "outcome": None}
    _state["firings"].append(firing)
    kiln["status"] = "busy"
    kiln["recent_firings"].insert(0, firing_id)
    return {"status": "started", "firing_id": firing_id}
""",
}


def filled(skeleton: str) -> str:
    """The skeleton with every decision taken, as a person takes them: comment by comment, `raise` by `raise`."""
    for tool, body in FILLED.items():
        raising = f"    raise NotImplementedError('BFCL-TODO: {tool} is not decided yet')\n"
        assert skeleton.count(raising) == 1
        skeleton = skeleton.replace(raising, body)
    lines = [line for line in skeleton.split("\n") if not line.startswith("    # BFCL-TODO:")]
    uncommented = [f"    {line[10:]}" if line.startswith("    #     ") else line for line in lines]
    return "\n".join(uncommented).replace("BFCL-TODO: decide", "Decided:")


def test_filled_skeleton_passes_its_check_and_earns_gold_as_a_packs_backend(tmp_path: Path) -> None:
    tree, scaffold = plan(tmp_path)
    backend = filled(scaffold.files["backend.py"].decode())
    rows_as_lists: list[Edit] = [
        replace(
            "assertions.py",
            'firing = state["firings"][calls[-1]["result"]["firing_id"]]',
            'firing = _row(state["firings"], "firing_id", calls[-1]["result"]["firing_id"])',
        ),
        replace(
            "assertions.py",
            'state["kilns"][task["slots"]["kiln_id"]]["status"]',
            '_row(state["kilns"], "kiln_id", task["slots"]["kiln_id"])["status"]',
        ),
        replace(
            "assertions.py",
            "def _results(",
            "def _row(rows, key, value):\n    return next(row for row in rows if row[key] == value)\n\n\ndef _results(",
        ),
    ]
    pack = write_pack(tmp_path / "pack", text("backend.py", backend), *rows_as_lists, templates=ALL_POLICIES)
    with workbench(pack) as bench:
        verdict = validate_pack(bench.pack, bench.config, bench.oracle)
    failures = [finding for check in verdict.checks for finding in check.failures]
    assert (failures, verdict.tier) == ([], "gold")

    write_source(tree, {**scaffold.files, "backend.py": backend.encode()})
    (tree.root / "fixtures.json").write_bytes((pack / "fixtures.json").read_bytes())
    checked = check_source(tree, catalog=pack / "tools.json")
    assert [one.detail for one in checked.findings if one.code != "collection_not_rows"] == []
    assert checked.blocking == ()
