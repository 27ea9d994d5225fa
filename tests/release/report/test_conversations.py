"""What a page holds of the conversations: whole, exact, and a fair sample where they are too many."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import ReleaseError
from bfcl.release.read import Release
from bfcl.release.report.conversations import LIMIT, chosen, pack
from bfcl.release.report.fates import seen_tasks
from tests.cli import runs
from tests.release import samples
from tests.release.report import releases


def unpacked(release: Release, limit: int = LIMIT) -> dict[str, Any]:
    packed = pack(release, list(seen_tasks(release)), limit)
    document: dict[str, Any] = json.loads(gzip.decompress(packed.data))
    assert packed.rows == len(document["rows"])
    return document


def test_published_task_is_shown_as_its_benchmark_row(tmp_path: Path) -> None:
    document = unpacked(releases.release(tmp_path / "demo"))
    assert document["systems"] == [samples.PROMPT]
    assert document["rows"][0] == {
        "id": samples.task(1).task_id,
        "template": "read_then_set",
        "policy": "confirmation",
        "category": "valves",
        "difficulty": "easy",
        "intent": "adjust",
        "language": "en",
        "outcome": "published",
        "why": None,
        "system": 0,
        "assertions": [["assert_set", "passed", None]],
        "turns": [
            ["user", "Check V-1, then set it to 1 bär."],
            [
                "calls",
                [
                    ["read_valve", [["valve", '"V-1"']], '{"grade":"ä","status":"ok","valve":"V-1"}'],
                    ["read_valve", [["valve", '"V-0"']], '{"grade":"ä","status":"ok","valve":"V-0"}'],
                ],
            ],
            ["assistant", "Set V-1 to 1?"],
            ["user", "Yes."],
            [
                "calls",
                [["set_valve", [["bar", "1"], ["valve", '"V-1"']], '{"grade":"ä","status":"ok","valve":"V-1"}']],
            ],
            ["assistant", "Done."],
        ],
    }


def test_raw_row_that_is_not_published_says_why(tmp_path: Path) -> None:
    row = unpacked(releases.release(tmp_path / "demo"))["rows"][1]
    assert (row["outcome"], row["why"], row["system"]) == ("render", "must_omit: must_omit: slot `bar`", 0)


def test_lost_task_is_shown_as_far_as_the_stages_came(tmp_path: Path) -> None:
    rows = unpacked(releases.release(tmp_path / "demo", releases.lost_tasks()))["rows"][5:]
    assert [(row["outcome"], row["system"]) for row in rows] == [
        ("expected_trace", None),
        ("schema_validation", None),
        ("executable_replay", None),
    ]
    assert [row["turns"][1] for row in rows] == [
        ["calls", []],
        ["calls", [["read_valve", [["valve", '"V-102"']], None], ["read_valve", [["valve", '"V-0"']], None]]],
        ["calls", [["read_valve", [["valve", '"V-103"']], None], ["read_valve", [["valve", '"V-0"']], None]]],
    ]


def test_numbers_are_as_the_tables_have_them(tmp_path: Path) -> None:
    row = unpacked(releases.release(tmp_path / "demo", [releases.hostile_task()]))["rows"][-1]
    ((_, ((_, argument),), _),) = row["turns"][2][1]
    assert argument == f'[1.0,12345678901234567890,"{releases.ARABIC}"]'


def test_long_value_is_spread_over_lines(tmp_path: Path) -> None:
    row = unpacked(releases.release(tmp_path / "demo", [releases.hostile_task()]))["rows"][-1]
    ((_, _, result),) = row["turns"][2][1]
    assert result == '{\n  "answer": ' + json.dumps(releases.MARKUP) + "\n}"


def test_same_release_packs_to_the_same_bytes(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo")
    tasks = list(seen_tasks(release))
    assert pack(release, tasks).data == pack(release, tasks).data


def test_everything_is_shown_up_to_the_limit() -> None:
    tasks = [(f"t{number}", number % 2 == 0) for number in range(10)]
    assert chosen(tasks, 10) == {task_id for task_id, _ in tasks}


def test_sample_holds_lost_tasks_up_to_half() -> None:
    tasks = [(f"t{number}", number < 30) for number in range(100)]
    sample = chosen(tasks, 20)
    lost = {task_id for task_id, is_lost in tasks if is_lost}
    assert len(sample) == 20
    assert len(sample & lost) == 10
    assert lost <= chosen(tasks, 70)


def test_sample_does_not_depend_on_the_order() -> None:
    tasks = [(f"t{number}", number % 5 == 0) for number in range(100)]
    assert chosen(tasks, 20) == chosen(tasks[::-1], 20)


def test_sample_keeps_the_order_of_the_tables(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", releases.lost_tasks())
    ids = [row["id"] for row in unpacked(release, 4)["rows"]]
    assert len(ids) == 4
    assert ids == [task.task_id for task in seen_tasks(release) if task.task_id in ids]


def test_benchmark_in_another_order_than_the_stage_tables_is_refused(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", count=2)
    tasks = [runs.records(samples.task(number)) for number in (2, 1)]
    runs.write_run(release.run_dir, tasks)
    with pytest.raises(ReleaseError) as refused:
        pack(release, list(seen_tasks(release)))
    (problem,) = refused.value.problems
    assert str(problem) == (
        f"release_rows_mismatch: benchmark_raw.parquet: row `{samples.task(2).task_id}` is in another order than in "
        "task_instances\n  fix: generate the benchmark again; published files are never edited"
    )
