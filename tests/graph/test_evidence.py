"""What each task did, kept below `build/log/`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bfcl.errors import StageError
from bfcl.graph.evidence import KEPT_INVOCATIONS, Evidence, invocations, read_invocation, started


def test_events_are_written_task_by_task(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path / "log")
    evidence.start("render")
    evidence.add("render", "kiln", "a" * 64, "computed", 0.25)
    evidence.add("render", None, "b" * 64, "hit")
    evidence.add("expand", None, None, "verified")
    evidence.write("render")
    assert [path.name for path in evidence.directory.iterdir()] == ["render.json"]
    evidence.write_all()
    told = read_invocation(evidence.directory)
    assert list(told) == ["expand", "render"]
    assert told["expand"] == {
        "task": "expand",
        "seconds": None,
        "events": [
            {"task": "expand", "stage": "expand", "shard": None, "fp": None, "action": "verified", "seconds": 0.0}
        ],
    }
    rendered = told["render"]
    assert isinstance(rendered, dict)
    assert isinstance(rendered["seconds"], float)
    assert rendered["events"] == [
        {"task": "render", "stage": "render", "shard": "kiln", "fp": "a" * 64, "action": "computed", "seconds": 0.25},
        {"task": "render", "stage": "render", "shard": None, "fp": "b" * 64, "action": "hit", "seconds": 0.0},
    ]


def test_count_is_of_shards_not_of_merges(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    for shard in ("one", "two", None):
        evidence.add("render", shard, None, "computed")
    evidence.add("render", "three", None, "hit")
    assert evidence.count("render", "computed") == 2
    assert evidence.count("render", "hit") == 1
    assert evidence.count("expand", "hit") == 0
    assert evidence.tasks() == ["render"]


def test_newest_invocations_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(KEPT_INVOCATIONS + 5):
        (log / f"{number:06}-20260101T000000000000-1").mkdir(parents=True)
    (log / "by hand").mkdir()
    (log / "a file").write_bytes(b"")
    Evidence(log).prune()
    kept = [path.name[:6] for path in invocations(log)]
    assert kept == [f"{number:06}" for number in range(5, KEPT_INVOCATIONS + 5)]


def test_no_log_is_no_invocation(tmp_path: Path) -> None:
    assert invocations(tmp_path / "absent") == []
    Evidence(tmp_path / "absent").prune()


def test_invocation_after_a_clock_was_set_back_is_still_the_newest(tmp_path: Path) -> None:
    (tmp_path / "000041-21000101T000000000000-9").mkdir()
    (tmp_path / "by hand").mkdir()
    ours = Evidence(tmp_path)
    ours.add("render", None, None, "hit")
    ours.write_all()
    assert ours.directory.name.startswith("000042-2")
    assert invocations(tmp_path)[-1] == ours.directory


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("000041-20260302T090001000002-9", datetime(2026, 3, 2, 9, 0, 1, 2, tzinfo=UTC)),
        ("1234567-20260302T090001000002-9", datetime(2026, 3, 2, 9, 0, 1, 2, tzinfo=UTC)),
        ("000041-20261302T090001000002-9", None),
        ("by hand", None),
    ],
)
def test_name_of_an_invocation_says_when_it_began(name: str, moment: datetime | None) -> None:
    assert started(name) == moment
    assert started(Evidence(Path("absent")).directory.name) is not None


def test_evidence_of_a_build_with_nothing_to_do_may_find_no_place(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("in the way")
    evidence = Evidence(tmp_path / "log")
    evidence.add("render", None, None, "verified")
    evidence.write_all()
    with pytest.raises(StageError):
        evidence.write("render")
