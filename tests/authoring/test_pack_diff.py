"""Two packs file by file, and the published runs that stop matching."""

from __future__ import annotations

import json

import pytest

from bfcl.authoring.pack_diff import document, pack_diff, read_manifest, side_of_pack
from bfcl.authoring.pack_items import Sources
from bfcl.errors import ReleaseError
from bfcl.pack.own_config import load_own
from tests.packs import put_template, text, write_pack

README = text("README.md", "# Other words\n")
REWORDED = put_template("kiln_status", ("user_turn_templates", "en"), "Is kiln {kiln_id} hot?")


@pytest.fixture
def side(tmp_path):
    def build(name, *edits):
        pack = load_own(write_pack(tmp_path / name, *edits)).pack
        sources = Sources(
            pack=pack,
            assertions=pack.files["assertions"].path.read_bytes(),
            backend=pack.files["backend"].path.read_bytes(),
        )
        return side_of_pack(name, sources)

    return build


def manifest_of(side, name="run/run_manifest.json"):
    pack = {
        "pack_id": side.pack_id,
        "version": side.version,
        "content_hash": side.content_hash,
        "files": dict(side.files),
    }
    return read_manifest(name, json.dumps({"run_id": "r1", "pack": pack}).encode())


def test_equal_packs_are_equal_whatever_their_directory(side):
    found = pack_diff(side("a"), side("b"))
    assert found.equal
    assert (document(found)["status"], document(found)["reason"], document(found)["items"]) == ("equal", None, {})


def test_readme_alone_changes_the_fingerprint_and_no_item(side):
    found = document(pack_diff(side("a"), side("b", README)))
    assert found["status"] == "different"
    assert found["reason"] == "an undeclared file changed (README.md); no declared oracle input changed"
    assert found["files"] == [{"change": "changed", "path": "tree/README.md", "declared_input": False}]
    assert found["items"] == {}


def test_declared_inputs_are_told_from_other_files(side):
    found = document(pack_diff(side("a"), side("b", README, REWORDED, text("notes.md", "x\n"))))
    assert found["reason"] == "a declared input changed (task_templates.yaml)"
    assert found["files"] == [
        {"change": "changed", "path": "tree/README.md", "declared_input": False},
        {"change": "added", "path": "tree/notes.md", "declared_input": False},
        {"change": "changed", "path": "tree/task_templates.yaml", "declared_input": True},
    ]


def test_published_runs_are_placed_and_told_why_they_stop_matching(side):
    a, b, other = side("a"), side("b", README), side("c", REWORDED)
    runs = [manifest_of(each, name) for each, name in ((a, "one"), (b, "two"), (other, "three"))]
    found = pack_diff(a, b, runs)
    assert [(one.name, one.run_id, one.matches, one.said) for one in found.published] == [
        (
            "one",
            "r1",
            "a",
            "stops matching: an undeclared file changed (README.md); no declared oracle input changed",
        ),
        ("two", "r1", "b", "matches the second only"),
        ("three", "r1", "neither", "matches neither"),
    ]
    assert [one.matches for one in pack_diff(a, a, runs).published] == ["both", "neither", "neither"]


def test_manifest_stands_for_its_pack_file_by_file(side):
    a, b = side("a"), side("b", REWORDED)
    found = document(pack_diff(manifest_of(a).side, b))
    assert (found["a"]["kind"], found["b"]["kind"], found["items"]) == ("manifest", "pack", None)
    assert found["files"] == [{"change": "changed", "path": "tree/task_templates.yaml", "declared_input": True}]


def test_two_manifests_cannot_tell_what_is_a_declared_input(side):
    found = document(pack_diff(manifest_of(side("a")).side, manifest_of(side("b", REWORDED)).side))
    assert found["files"] == [{"change": "changed", "path": "tree/task_templates.yaml", "declared_input": None}]
    assert found["reason"] == "files changed (task_templates.yaml)"


def test_manifest_without_its_pack_is_refused_with_every_fault(side):
    with pytest.raises(ReleaseError) as refused:
        read_manifest("run_manifest.json", b'{\n  "pack": {"pack_id": "x", "version": 1, "files": {"tree/a": 3}}\n}\n')
    expected = "is not there as a run manifest has it; expected one written by `doit generate`"
    assert [str(one) for one in refused.value.problems] == [
        f"run_manifest.json:2: release_manifest_invalid: `pack.{key}` {expected}"
        for key in ("version", "content_hash", "files")
    ]


def test_manifest_that_is_no_json_is_refused():
    with pytest.raises(ReleaseError) as refused:
        read_manifest("run_manifest.json", b"pack: x\n")
    assert [str(one) for one in refused.value.problems] == [
        "run_manifest.json:1: release_manifest_invalid: not JSON: Expecting value"
    ]
