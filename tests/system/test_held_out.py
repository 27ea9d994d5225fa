"""A held-out policy in a whole run: what is published, what is refused, and what stays behind when it goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.release.verify import verify_release
from tests.packs import add_template, held_out, put, write_pack
from tests.system.project import REPOSITORY, Project, write_project

SECRET = (
    add_template("secret_scope", like="out_of_scope", intent="secret_intent"),
    put("fixtures.json", ("kilns", "-"), {"kiln_id": "K-8", "zone": "attic", "status": "idle", "recent_firings": []}),
)
"""What the policy reserves: no other row refers to it, so nothing else may bring it into a result."""
FIXTURES = {"kilns": ["K-8"]}
RESERVED = ("K-8", "attic", "secret_scope", "secret_intent")
"""What must occur nowhere in a publication."""
ARTIFACTS = ("held_out_bindings.json", "held_out_normalized.json", "held_out_scan.json")


def reserve(project: Project, **policy: object) -> None:
    """Give the pack of `SECRET` its policy, or another one."""
    write_pack(project.pack, *SECRET, held_out(FIXTURES, ["secret_scope"], **policy))


def artifacts(project: Project) -> list[str]:
    return sorted(path.name for path in (project.run_dir / "stage_cache").glob("held_out_*"))


def document(project: Project, name: str) -> dict[str, Any]:
    return dict(json.loads((project.run_dir / "stage_cache" / name).read_bytes()))


@pytest.fixture(scope="module", params=[True, False])
def publication(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project under the policy, its rows in the oracle's state or not; never to be changed."""
    policy = held_out(FIXTURES, ["secret_scope"], fixtures_in_backend_state=request.param)
    root = tmp_path_factory.mktemp("held_out") / "project"
    project = write_project(root, *SECRET, policy, task_generation__tasks_per_category=2)
    project.generate()
    return project


def test_no_reserved_id_occurs_in_any_published_byte(publication: Project) -> None:
    for name in publication.published():
        data = (publication.run_dir / name).read_bytes()
        assert [word for word in RESERVED if word.encode() in data] == [], name
    for table in ("benchmark_raw.parquet", "benchmark.parquet"):
        # Pages are compressed, so the bytes alone would prove nothing.
        rows = json.dumps(publication.rows(table))
        assert [word for word in RESERVED if word in rows] == [], table


def test_every_row_says_that_it_was_scanned(publication: Project) -> None:
    assert {row["held_out_hit"] for row in publication.rows("benchmark_raw.parquet")} == {False}
    held = publication.manifest()["held_out"]
    assert (held["evaluated"], held["rows_hit"], held["rows_dropped"]) == (True, 0, 0)
    assert held["rows_scanned"] == len(publication.rows("benchmark_raw.parquet"))
    assert held["source"] == "tree/held_out.yaml"


def test_publication_verifies_with_its_three_artifacts(publication: Project) -> None:
    release = verify_release(publication.run_dir)
    assert {"held_out_normalized", "held_out_bindings", "held_out_scan"} <= release.artifacts.keys()
    assert artifacts(publication) == list(ARTIFACTS)
    scan = document(publication, "held_out_scan.json")
    assert (scan["action"], scan["hits"], scan["stage_four"]["consistent"]) == ("publish", [], True)
    assert document(publication, "held_out_bindings.json")["blocked_templates"] == ["secret_scope"]


def test_second_run_has_nothing_to_do(publication: Project, tmp_path: Path) -> None:
    project = publication.copy(tmp_path / "project")
    before = (project.run_dir / "run_manifest.json").read_bytes()
    project.generate()
    assert (project.run_dir / "run_manifest.json").read_bytes() == before
    assert project.shards("computed") == []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose pack has the template to reserve, and no policy yet."""
    return write_project(tmp_path / "project", *SECRET, task_generation__tasks_per_category=2)


def test_policy_that_comes_and_goes_leaves_nothing_behind(project: Project) -> None:
    project.generate()
    before = project.tables()
    assert artifacts(project) == []
    reserve(project)
    project.generate()
    assert artifacts(project) == list(ARTIFACTS)
    (project.pack / "held_out.yaml").unlink()
    write_pack(project.pack, *SECRET)
    project.generate()
    assert artifacts(project) == []
    assert project.tables() == before
    assert project.manifest()["held_out"]["evaluated"] is False
    verify_release(project.run_dir)


def test_edit_of_the_policy_alone_recomputes_what_it_can_touch(project: Project) -> None:
    reserve(project)
    project.generate()
    manifest = project.manifest()
    reserve(project, seed=9)
    project.generate()
    assert project.manifest()["run_id"] != manifest["run_id"]
    assert project.shards("computed") == []
    assert project.merges("computed") == ["expand", "final_output", "prepare"]
    write_pack(project.pack, *SECRET, held_out({**FIXTURES, "firings": ["F-10"]}, ["secret_scope"], seed=9))
    project.generate()
    touched = {name for name in project.shards("computed") if name.startswith("expand:")}
    assert touched == {"expand:kiln_and_firing"}
    assert {name.partition(":")[2] for name in project.shards("computed")} == {"kiln_and_firing"}


def test_starved_category_is_refused_and_nothing_is_published(project: Project) -> None:
    project.generate()
    write_pack(project.pack, *SECRET, held_out(templates=["secret_scope", "out_of_scope"]))
    ended = project.doit("generate")
    assert ended.status == 1
    assert ended.blocks[0] == (
        "non_gold_pack: kiln_studio: tier silver, gold is needed; failing: 7: held_out_binding_starved\n"
        "  fix: mend what follows, then run `doit prepare`"
    )
    assert ended.blocks[1].startswith(
        "packs/studio/held_out.yaml:3: held_out_binding_starved: category `out_of_scope` keeps no template; reserved: "
        "template:out_of_scope, template:secret_scope\n"
    )
    assert project.published() == []


def test_broken_policy_is_refused_with_every_fault(project: Project) -> None:
    write_pack(project.pack, *SECRET, held_out({"kilns": ["K-90", "K-7"]}, ["nobody"]))
    ended = project.doit("generate")
    assert ended.status == 1
    assert [one.partition("held_out_contract_invalid: ")[2].partition(":")[0] for one in ended.blocks] == [
        "absent_id_reserved",
        "unknown_fixture_id",
        "unknown_template",
    ]


FORGED = """
from bfcl.graph import runner
from bfcl.graph.tasks import DOIT_CONFIG, task_pipeline

{forgery}
"""
BINDS_ANYTHING = """
select = runner.select

def forged(templates, held_out, sources, settings, wanted):
    sources._reserved = frozenset()
    return select(templates, None, sources, settings, wanted)

runner.select = forged
"""
PROVES_NOTHING = """
runner.held_out_bindings = lambda *_: {}
"""


def forge(project: Project, forgery: str) -> None:
    """Let the project's expansion lie."""
    (project.root / "dodo.py").write_text(FORGED.format(forgery=forgery), encoding="utf-8")


def test_expansion_that_binds_reserved_material_is_found_out_by_the_scan(project: Project) -> None:
    project.generate()
    reserve(project)
    forge(project, BINDS_ANYTHING)
    ended = project.doit("generate")
    assert ended.status == 1, ended.out + ended.err
    (block,) = ended.blocks
    assert block.startswith("held_out_leak_detected: benchmark_raw: ")
    assert project.published() == []
    scan = document(project, "held_out_scan.json")
    assert (scan["action"], scan["stage_four"]["consistent"]) == ("abort", True)
    assert (scan["counts"]["rows_hit"], scan["counts"]["rows_published"]) == (len(scan["hits"]), 0)
    matched = [(hit["matched_template_id"], hit["matched_fixture_refs"]) for hit in scan["hits"]]
    assert ("secret_scope", []) in matched
    assert (None, ['["kilns","K-8"]']) in matched


def test_expansion_without_evidence_counts_as_a_leak(project: Project) -> None:
    reserve(project)
    forge(project, PROVES_NOTHING)
    ended = project.doit("generate")
    assert ended.status == 1, ended.out + ended.err
    assert {one.partition(" held_out_bindings.json")[0] for one in ended.blocks} == {
        "held_out_leak_detected: held_out_bindings:"
    }
    assert project.published() == []
    scan = document(project, "held_out_scan.json")
    assert (scan["action"], scan["hits"], scan["stage_four"]["consistent"]) == ("abort", [], False)


def test_scan_of_an_aborted_run_gives_way_to_that_of_the_next(project: Project) -> None:
    reserve(project)
    forge(project, PROVES_NOTHING)
    assert project.doit("generate").status == 1
    (project.root / "dodo.py").write_bytes((REPOSITORY / "dodo.py").read_bytes())
    project.generate()
    assert document(project, "held_out_scan.json")["action"] == "publish"
    verify_release(project.run_dir)
