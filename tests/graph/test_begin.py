"""What an invocation refuses before anything is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ConfigError
from bfcl.graph.begin import begin, refuse_misplaced_cache
from bfcl.graph.opening import Opening
from bfcl.graph.variables import check_variables
from tests.graph.projects import invoked, write_project
from tests.packs import write_config, write_pack


def refused(project: Path, task: str = "validate", **given: str) -> str:
    opening = Opening(invoked(project, **given))
    opening.tasks = (task,)
    with pytest.raises(ConfigError) as caught:
        begin(opening)
    assert not (project / "build").exists()
    return str(caught.value)


@pytest.mark.parametrize("below", [".", "tools/here"])
@pytest.mark.parametrize("named", [True, False])
def test_project_inside_the_pack_is_refused(tmp_path: Path, below: str, named: bool) -> None:
    pack = write_pack(tmp_path.resolve() / "studio")
    project = pack / below
    project.mkdir(parents=True, exist_ok=True)
    write_config(tmp_path / "tiny.yaml", pack, output_dir=str(tmp_path / "runs"))
    given = {"pack": str(pack)} if named else {"config": str(tmp_path / "tiny.yaml")}
    assert refused(project, **given) == (
        f"output_inside_pack: build: `{project}/build`, where results of this project go, would lie inside the pack "
        f"`{pack}` and change it\n"
        "  fix: keep `dodo.py` outside the pack, which may lie below it, say in `packs/<pack_id>`"
    )


def test_pack_beside_the_build_directory_is_welcome(tmp_path: Path) -> None:
    project = tmp_path.resolve()
    pack = write_pack(project / "build_tools")
    assert invoked(project, pack=str(pack)).pack_around_build is None


@pytest.mark.parametrize("scheme", ["", "file://", "local://"])
@pytest.mark.parametrize(
    ("below", "around"),
    [
        ("packs/studio", "the pack, `{}/packs/studio`"),
        ("packs/studio/shared/deep", "the pack, `{}/packs/studio`"),
        ("build/runs/demo/cache", "the run directory, `{}/build/runs/demo`"),
        ("build", "`build/`, `{}/build`"),
        ("build/runs", "`build/`, `{}/build`"),
        ("link/cache", "the pack, `{}/packs/studio`"),
    ],
)
def test_cache_inside_what_a_run_reads_or_writes_is_refused(
    tmp_path: Path, scheme: str, below: str, around: str
) -> None:
    project = write_project(tmp_path.resolve(), expt_name="demo")
    (project / "link").symlink_to(project / "packs" / "studio")
    place = project / below.replace("link", "packs/studio")
    assert refused(project, "generate", cache=f"{scheme}{project / below}") == (
        f"cache_misplaced: cache: `{place}` lies inside {around.format(project)}\n"
        "  fix: name a directory of its own, outside of pack, run directory and `build/`"
    )


@pytest.mark.parametrize("cache", ["{}/packs", "{}/packs/studio_cache", "{}", "s3://bucket{}/build", "memory://build"])
def test_cache_beside_them_or_elsewhere_is_welcome(tmp_path: Path, cache: str) -> None:
    project = write_project(tmp_path.resolve())
    given = {"cache": cache.format(project)}
    refuse_misplaced_cache(invoked(project, **given), check_variables(given, ("generate",)))
