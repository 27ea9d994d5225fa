"""What an invocation refuses before anything is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ConfigError
from bfcl.graph.begin import begin
from bfcl.graph.opening import Opening
from tests.graph.projects import invoked
from tests.packs import write_config, write_pack


def refused(project: Path, **given: str) -> str:
    opening = Opening(invoked(project, **given))
    opening.tasks = ("validate",)
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
