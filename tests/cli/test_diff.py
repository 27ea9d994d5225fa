"""`bfcl diff` at the command line."""

from __future__ import annotations

import json

import pytest

from bfcl.pack.own_config import load_own
from tests.packs import drop, put, put_template, replace, text, write_pack


def publish(project, root, name):
    pack = load_own(root).pack
    run = project / "build/runs" / name
    run.mkdir(parents=True)
    told = {"pack_id": "kiln_studio", "version": "1.0", "content_hash": pack.fingerprint, "files": dict(pack.entries)}
    (run / "run_manifest.json").write_text(json.dumps({"run_id": name, "pack": told}), encoding="utf-8")


def test_text_tells_files_items_and_published_runs(bfcl, project):
    a = write_pack(project / "a")
    b = write_pack(
        project / "b",
        put("fixtures.json", ("kilns", 0, "zone"), "east"),
        drop("fixtures.json", ("firings", 0)),
        put_template("kiln_status", ("mutates",), True),
        replace("backend.py", '"kiln_busy"', '"busy"'),
        text("README.md", "# Other\n"),
    )
    publish(project, a, "one")
    ended = bfcl("diff", "a", "b", "--format", "text")
    assert (ended.status, ended.err) == (0, "")
    hashes = [load_own(root).pack.fingerprint for root in (a, b)]
    assert ended.out == (
        "different  declared inputs changed (backend.py, fixtures.json, task_templates.yaml)\n"
        f"  a  kiln_studio 1.0  {hashes[0]}\n"
        f"  b  kiln_studio 1.0  {hashes[1]}\n"
        "\n"
        "files\n"
        "  changed  tree/README.md            undeclared file\n"
        "  changed  tree/backend.py           declared input\n"
        "  changed  tree/fixtures.json        declared input\n"
        "  changed  tree/task_templates.yaml  declared input\n"
        "\n"
        "templates\n"
        "  changed  kiln_status: mutates\n"
        "\n"
        "backend\n"
        "  changed  _start_firing\n"
        "  changed  call_tool: through _start_firing\n"
        "\n"
        "fixtures\n"
        "  firings  1 removed\n"
        "    removed  F-10\n"
        "  kilns  1 changed\n"
        '    changed  K-1: zone: "north" -> "east"\n'
        "\n"
        "published runs\n"
        "  build/runs/one/run_manifest.json  stops matching: declared inputs changed"
        " (backend.py, fixtures.json, task_templates.yaml)\n"
    )


def test_status_is_0_whatever_differs_unless_the_exit_code_is_asked_for(bfcl, project):
    write_pack(project / "a")
    write_pack(project / "b", text("README.md", "# Other\n"))
    assert bfcl("diff", "a", "b", "--format", "json").status == 0
    assert bfcl("diff", "a", "b", "--format", "json", "--exit-code").status == 2
    ended = bfcl("diff", "a", "a", "--format", "json", "--exit-code")
    assert (ended.status, json.loads(ended.out)["status"]) == (0, "equal")


def test_manifest_of_a_run_stands_for_its_pack(bfcl, project):
    publish(project, write_pack(project / "a"), "one")
    write_pack(project / "b", text("README.md", "# Other\n"))
    for named in ("build/runs/one", "build/runs/one/run_manifest.json"):
        document = json.loads(bfcl("diff", named, "b", "--format", "json").out)
        assert document["items"] is None
        assert [one["path"] for one in document["files"]] == ["tree/README.md"]
        assert [(one["path"], one["matches"]) for one in document["manifests"]] == [
            ("build/runs/one/run_manifest.json", "a")
        ]


def test_named_manifests_take_the_place_of_the_built_ones(bfcl, project):
    publish(project, write_pack(project / "a"), "one")
    publish(project, project / "a", "two")
    ended = bfcl("diff", "a", "a", "--manifest", "build/runs/two", "--format", "json")
    assert [one["run_id"] for one in json.loads(ended.out)["manifests"]] == ["two"]


def test_manifest_that_is_not_there_is_refused(bfcl, project):
    write_pack(project / "a")
    ended = bfcl("diff", "a", "a", "--manifest", "gone.json")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "gone.json: release_manifest_missing: cannot be read: No such file or directory\n"


def test_directory_that_is_no_pack_is_refused(bfcl, project):
    write_pack(project / "a")
    (project / "empty").mkdir()
    ended = bfcl("diff", "a", "empty")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("empty: pack_file_missing: `empty` holds no manifest.yaml; expected an oracle pack\n")


def test_many_rows_are_cut_in_text_and_whole_in_the_document(bfcl, project):
    rows = [{"firing_id": f"F-{number}", "kiln_id": "K-1", "cone": 4, "outcome": None} for number in range(20, 40)]
    write_pack(project / "a")
    write_pack(project / "b", *(put("fixtures.json", ("firings", "-"), row) for row in rows))
    assert "    added    F-27\n    and 12 more\n" in bfcl("diff", "a", "b", "--format", "text").out
    assert len(json.loads(bfcl("diff", "a", "b", "--format", "json").out)["items"]["fixtures"]) == 20


@pytest.mark.parametrize(("left", "right"), [("a", "service"), ("service", "a"), ("service", "other")])
def test_pack_of_a_service_is_compared_with_any_pack(bfcl, project, left, right):
    write_pack(project / "a")
    for name in ("service", "other"):
        made = bfcl("scaffold-oracle-pack", "--domain", name, "--target", name, "--transport", "endpoint")
        assert made.status == 0
    document = json.loads(bfcl("diff", left, right, "--format", "json").out)
    assert document["status"] == "different"
    backend = {one["name"]: one["change"] for one in document["items"].get("backend", ())}
    assert backend.get("call_tool") == ("removed" if left == "a" else "added" if right == "a" else None)


def test_pack_of_a_service_equals_itself(bfcl, project):
    bfcl("scaffold-oracle-pack", "--domain", "Desk", "--target", "desk", "--transport", "endpoint")
    ended = bfcl("diff", "desk", "desk", "--format", "json", "--exit-code")
    assert (ended.status, json.loads(ended.out)["status"]) == (0, "equal")


def test_helper_module_is_an_item_of_its_own(bfcl, project):
    write_pack(project / "a", text("rows.py", "X = 1\n"))
    write_pack(project / "b", text("rows.py", "X = 2\n"))
    assert bfcl("diff", "a", "b", "--format", "text").out.endswith("\nmodules\n  changed  rows.py: X changed\n")
