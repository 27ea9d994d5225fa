"""Which task a person means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import ConfigError, DriftError
from bfcl.graph.journey import LATER, close_ids, find_task, read_journey, table_path
from bfcl.graph.layout import RunTree
from bfcl.stages import SHARDED
from tests.cli import runs
from tests.release import samples

WHERE = "build/runs/demo"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / WHERE


def refused(asked: str, *runs: RunTree) -> str:
    with pytest.raises(ConfigError) as refusal:
        find_task(runs, asked)
    (problem,) = refusal.value.problems
    return str(problem)


def test_every_sharded_stage_is_followed() -> None:
    assert ("expand", *LATER) == tuple(stage.name for stage in SHARDED)


def test_table_of_a_stage_is_the_file_it_writes() -> None:
    assert table_path(RunTree(Path("r")), "render") == Path("r/stage_cache/rendered_conversations.parquet")


def test_whole_id_wins_over_longer_ids_that_begin_so(run: Path) -> None:
    ids = ["plant__a__1", "plant__a__12"]
    made = runs.write_run(run, [runs.records(runs.renamed(samples.task(1), task_id)) for task_id in ids])
    assert find_task([made], "plant__a__1").task_id == "plant__a__1"


def test_beginning_or_end_that_one_id_has_names_it_in_the_first_run_that_knows_it(run: Path) -> None:
    first, second = runs.good_run(run), runs.good_run(run.with_name("other"), 4)
    for asked in ("plant__read_then_set__0000000000000002", "0000000000000002", "0002"):
        found = find_task([first, second], asked)
        assert (found.task_id[-4:], found.run, found.position, found.also_in) == ("0002", first, 1, (second,))
    assert find_task([first, second], "0004").run == second


def test_ambiguous_id_lists_the_candidates(run: Path) -> None:
    assert refused("plant", runs.good_run(run)) == (
        "ambiguous_task_id: plant: 3 tasks of build/runs/demo begin or end with it: "
        "`plant__read_then_set__0000000000000001`, `plant__read_then_set__0000000000000002`, "
        "`plant__read_then_set__0000000000000003`\n"
        "  fix: give more of the id"
    )


def test_ambiguous_id_lists_at_most_ten(run: Path) -> None:
    said = refused("", runs.good_run(run, 12))
    assert said.count("`plant__") == 10
    assert "`plant__read_then_set__000000000000000a` and 2 more\n" in said


def test_unknown_id_names_close_ones(run: Path) -> None:
    assert refused("plant__reed_then_set__0000000000000004", runs.good_run(run, 5)) == (
        "unknown_task_id: plant__reed_then_set__0000000000000004: none of the 5 tasks of build/runs/demo has this id, "
        "or begins or ends with it\n"
        "  fix: did you mean `plant__read_then_set__0000000000000001`, `plant__read_then_set__0000000000000002`, "
        "`plant__read_then_set__0000000000000003`?"
    )


def test_unknown_id_without_a_close_one_says_where_ids_are(run: Path) -> None:
    assert refused("zzz", runs.good_run(run, 1)) == (
        "unknown_task_id: zzz: none of the 1 tasks of build/runs/demo has this id, or begins or ends with it\n"
        "  fix: `bfcl trace TEMPLATE_ID` lists the ids of a template's tasks; another run is named with `--run`"
    )


def test_empty_table_holds_no_id(run: Path) -> None:
    other = runs.write_run(run.with_name("other"), [])
    assert refused("a", runs.write_run(run, []), other).startswith(
        "unknown_task_id: a: none of the 0 tasks of 2 runs (build/runs/demo, build/runs/other) has this id"
    )


def test_damaged_table_is_told_only_where_no_other_run_has_the_task(run: Path) -> None:
    good, broken = runs.good_run(run), runs.good_run(run.with_name("broken"))
    table_path(broken, "expand").write_bytes(b"x")
    assert find_task([broken, good], "0001").run == good
    with pytest.raises(DriftError) as refusal:
        find_task([broken], "0001")
    assert [problem.code for problem in refusal.value.problems] == ["table_unreadable"]


def test_journey_has_a_record_of_every_stage_that_has_a_row(run: Path) -> None:
    tasks = [
        runs.records(samples.task(1)),
        runs.records(samples.task(2), expected_traces=None, schema_validated_traces=None),
    ]
    made = runs.write_run(run, tasks, without=("replay_validated_tasks",))
    journey = read_journey(find_task([made], "0002"))
    assert journey.task.task_id.endswith("0002")
    assert (journey.plan is None, journey.surface is None) == (False, False)
    assert (journey.trace, journey.schema, journey.replay, journey.publication) == (None, None, None, None)
    assert journey.tables == {"expand", "state_machine", "render", "expected_trace", "schema_validation"}
    assert [stage for stage, row in journey.rows.items() if row is None] == [
        "expected_trace",
        "schema_validation",
        "executable_replay",
    ]


IDS = ["p__lend__1a", "p__lend__1b", "p__lend__2c", "p__return__1a"]


@pytest.mark.parametrize(
    ("asked", "close"),
    [
        ("p__lend__1c", ["p__lend__1a", "p__lend__1b", "p__lend__2c"]),
        ("p__lend__2", ["p__lend__2c", "p__lend__1a", "p__lend__1b"]),
        ("return", ["p__return__1a"]),
        ("p__retrun__1a", ["p__return__1a", "p__lend__1a", "p__lend__1b"]),
        ("p", ["p__lend__1a", "p__lend__1b", "p__lend__2c"]),
        ("nothing_like_it", []),
    ],
)
def test_close_ids_come_by_stem_then_by_the_longest_beginning(asked: str, close: list[str]) -> None:
    assert close_ids(asked, IDS) == close


@given(st.text(max_size=20), st.lists(st.text(max_size=20), unique=True, max_size=20), st.randoms())
def test_close_ids_are_few_known_and_independent_of_order(asked: str, ids: list[str], random: object) -> None:
    close = close_ids(asked, ids)
    assert len(close) <= 3
    assert set(close) <= set(ids)
    shuffled = list(ids)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert close_ids(asked, shuffled) == close
