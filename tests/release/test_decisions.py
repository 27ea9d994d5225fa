"""What the stages decided, read from the tables beside a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ReleaseError
from bfcl.release.decisions import read_decisions
from bfcl.release.read import open_release
from tests.cli import runs
from tests.release import samples


def test_decisions_are_read_as_they_were_made(tmp_path: Path) -> None:
    made = samples.decisions(4, rejected=(2,))
    assert list(read_decisions(open_release(samples.published(tmp_path / "demo", 4)))) == made


def test_tables_of_different_tasks_are_refused(tmp_path: Path) -> None:
    run = samples.published(tmp_path / "demo", 2)
    runs.write_run(run, [samples.records(samples.task(1)), samples.records(samples.task(2), expected_traces=None)])
    release = open_release(run)
    with pytest.raises(ReleaseError) as caught:
        list(read_decisions(release))
    assert str(caught.value) == (
        "stage_tables_disagree: expected_traces: row 2 is absent, in task_instances it is "
        f"`{samples.task(2).task_id}`\n"
        "  fix: run again with rebuild=1; if it stays, report it as a bug"
    )
