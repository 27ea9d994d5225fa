"""Which task a person means."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.cli.journey import LATER, close_ids, table_path
from bfcl.graph.layout import RunTree
from bfcl.stages import SHARDED
from tests.cli import runs
from tests.cli.conftest import Ended
from tests.release import samples

Command = Callable[..., Ended]
WHERE = "build/runs/demo"


@pytest.fixture
def run(project: Path) -> Path:
    return project / WHERE


def test_every_sharded_stage_is_followed() -> None:
    assert ("expand", *LATER) == tuple(stage.name for stage in SHARDED)


def test_table_of_a_stage_is_the_file_it_writes() -> None:
    assert table_path(RunTree(Path("r")), "render") == Path("r/stage_cache/rendered_conversations.parquet")


def test_whole_id_wins_over_longer_ids_that_begin_so(bfcl: Command, run: Path) -> None:
    ids = ["plant__a__1", "plant__a__12"]
    runs.write_run(run, [runs.records(runs.renamed(samples.task(1), task_id)) for task_id in ids])
    said = bfcl("trace", "--format", "text", "plant__a__1")
    assert said.out.splitlines()[0] == "task       plant__a__1"


def test_ambiguous_id_lists_the_candidates(bfcl: Command, run: Path) -> None:
    runs.good_run(run)
    said = (
        "ambiguous_task_id: plant: 3 tasks of build/runs/demo begin or end with it: "
        "`plant__read_then_set__0000000000000001`, `plant__read_then_set__0000000000000002`, "
        "`plant__read_then_set__0000000000000003`\n"
        "  fix: give more of the id\n"
    )
    assert bfcl("trace", "--format", "text", "plant") == (1, "", said)


def test_ambiguous_id_lists_at_most_ten(bfcl: Command, run: Path) -> None:
    runs.good_run(run, 12)
    said = bfcl("trace", "--format", "text", "")
    assert said.err.count("`plant__") == 10
    assert "`plant__read_then_set__000000000000000a` and 2 more\n" in said.err


def test_unknown_id_names_close_ones(bfcl: Command, run: Path) -> None:
    runs.good_run(run, 5)
    said = (
        "unknown_task_id: plant__reed_then_set__0000000000000004: none of the 5 tasks of build/runs/demo has this id, "
        "or begins or ends with it\n"
        "  fix: did you mean `plant__read_then_set__0000000000000001`, `plant__read_then_set__0000000000000002`, "
        "`plant__read_then_set__0000000000000003`?\n"
    )
    assert bfcl("trace", "--format", "text", "plant__reed_then_set__0000000000000004") == (1, "", said)


def test_unknown_id_without_a_close_one_says_where_ids_are(bfcl: Command, run: Path) -> None:
    runs.good_run(run, 1)
    said = (
        "unknown_task_id: zzz: none of the 1 tasks of build/runs/demo has this id, or begins or ends with it\n"
        "  fix: take an id from stage_cache/task_instances.parquet, or name another run with `--run`\n"
    )
    assert bfcl("trace", "--format", "text", "zzz") == (1, "", said)


def test_empty_table_holds_no_id(bfcl: Command, run: Path) -> None:
    runs.write_run(run, [])
    assert bfcl("trace", "--format", "text", "a").err.startswith(
        "unknown_task_id: a: none of the 0 tasks of build/runs/demo has this id"
    )


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
