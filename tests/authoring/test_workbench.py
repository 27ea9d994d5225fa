"""A pack with its oracle running, for author's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.workbench import workbench
from bfcl.errors import PackError
from bfcl.oracle.protocol import Episode, PlannedCall
from tests.packs import put_template, write_config, write_pack

LOOK = Episode(task_id="look", seed=0, calls=(PlannedCall(tool="get_kiln", arguments={"kiln_id": "K-1"}),))


def test_workbench_answers_calls_of_a_pack_without_a_configuration(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    with workbench(root, jobs=1) as bench:
        (result,) = bench.oracle.run([LOOK])
        assert bench.config.task_generation.tasks_per_category == 2
    assert result.breakdown is None
    assert result.results[0].startswith('{"kiln":{"kiln_id":"K-1"')


def test_workbench_takes_the_configuration_that_the_pack_brings(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    write_config(root / "validate.yaml", root, output_dir="../runs", task_generation__tasks_per_category=5)
    with workbench(root, jobs=1) as bench:
        assert bench.config.task_generation.tasks_per_category == 5


def test_workbench_leaves_the_pack_as_it_is_and_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    root = write_pack(tmp_path / "pack")
    before = sorted(root.rglob("*"))
    with workbench(root, jobs=1) as bench:
        bench.oracle.run([LOOK])
        assert list(private.iterdir()) != []
    assert (sorted(root.rglob("*")), list(private.iterdir())) == (before, [])


def test_workbench_refuses_a_pack_that_does_not_load(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", put_template("kiln_status", ("slot",), {}))
    with pytest.raises(PackError) as caught, workbench(root):
        pass
    assert [problem.code for problem in caught.value.problems] == ["task_templates_invalid"]
