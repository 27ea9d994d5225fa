"""Failed tasks as the page holds them: every value a text, nothing too long, a sample where there are too many."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import sha256_bytes
from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.page.entries import LIMIT_BYTES, LIST_LIMIT, TEXT_LIMIT, Chosen, Packed, clipped, key, pack
from tests.evaluate.driven import Answer, calls, wire_call, words
from tests.evaluate.page.pages import MARKUP, hostile, page_data, task_id
from tests.evaluate.score.episodes import ANSWERS


def packed(data: PageData, limit_bytes: int = LIMIT_BYTES) -> Packed:
    failures = (
        (one.label, one.evaluation.kinds[failure.episode.evidence.task_id], failure)
        for one in data.labelled()
        for failure in one.entrant.failures
    )
    return pack(failures, limit_bytes=limit_bytes)


def read(held: Packed) -> Any:
    return json.loads(gzip.decompress(held.data))


def told(answer: Answer) -> Any:
    """The entry of a task that was answered so."""
    (row,) = read(packed(page_data({"a": [answer]})))["rows"]
    return row


def test_entry_tells_whose_and_what_and_why() -> None:
    row = told(ANSWERS["wrong_value"])
    assert row["id"] == key("a", task_id(0)) == "a plant__0000"
    assert [row[name] for name in ("candidate", "task", "template", "policy", "category", "difficulty")] == [
        "a",
        "plant__0000",
        "template_0",
        "single_turn",
        "reads",
        None,
    ]
    assert (row["gate"], row["reason"], row["answerable"]) == ("arguments", "arguments.mismatch", "candidate")
    assert row["failed"] == ["arguments", "trace_completion"]
    assert (row["status"], row["turn"], row["near"]) == ("candidate_mismatch", 0, None)
    assert (row["what"], row["remark"], row["last_attempt"]) == (
        "a call has other arguments than expected",
        None,
        None,
    )
    assert row["wrong"] == f"assistant turn 1 of 2: {row['what']}"


def test_entry_shows_calls_argument_by_argument_as_texts() -> None:
    row = told(ANSWERS["wrong_value"])
    assert row["calls"] == [
        ["read_valve", "read_valve", [["valve", "fits", '"V-1"', '"V-1"']], [], None, True],
        ["read_valve", "read_valve", [["valve", "differs", '"V-0"', '"V-9"']], [], None, False],
    ]


def test_entry_keeps_kinds_of_number_apart() -> None:
    answer = calls(wire_call("read_valve", '{"valve": 1.0}', call_id="a"), wire_call("read_valve", "{V-0", call_id="b"))
    row = told(answer)
    assert {actual for call in row["calls"] for _, _, _, actual in call[2]} == {"1.0", None}
    assert [call[4] for call in row["calls"] if call[4]] == ["{V-0"]


def test_entry_has_the_conversation_and_its_system_prompt() -> None:
    held = read(packed(page_data({"a": [ANSWERS["words"]] * 2})))
    for row in held["rows"]:
        assert row["systems"] == ["You operate the valves."]
        assert [who for who, _ in row["before"]] == ["user"]
        assert (row["content"], row["words_expected"]) == ("Nothing to do.", False)


def test_entry_without_a_reply_says_how_the_call_ended() -> None:
    row = told(ANSWERS["unreachable"])
    assert (row["call_status"], row["content"], row["finish"]) == ("retry_exhausted", None, None)
    assert row["answerable"] == "infrastructure"
    assert [call[:2] for call in row["calls"]] == [["read_valve", None]] * 2


def test_markup_of_a_model_is_kept_as_it_is() -> None:
    row = told(hostile())
    assert row["content"] == MARKUP
    assert [MARKUP, "unexpected", None, json.dumps(MARKUP)] in row["calls"][-1][2]


def test_long_texts_and_lists_are_cut_and_say_so() -> None:
    many = calls(*(wire_call("read_valve", {"valve": "x" * 9_000}, call_id=f"c{n}") for n in range(LIST_LIMIT + 5)))
    row = told(many)
    # Of the two calls that were expected, each is paired with one of these.
    assert row["calls"][-1] == 5
    assert len(row["calls"]) == LIST_LIMIT + 1
    assert row["calls"][0][2][0][3].endswith("… (5,002 more characters)")
    assert told(words("y" * 9_000))["content"] == "y" * TEXT_LIMIT + "… (5,000 more characters)"
    assert clipped("z" * TEXT_LIMIT) == "z" * TEXT_LIMIT


def test_too_many_failures_leave_a_sample_of_the_same_tasks_for_every_candidate() -> None:
    data = page_data({alias: [ANSWERS["wrong_value"]] * 20 for alias in ("a", "b")})
    whole = packed(data)
    assert (whole.shown, whole.failures) == (40, 40)
    size = sum(len(json.dumps(row, separators=(",", ":"), ensure_ascii=False)) for row in read(whole)["rows"])
    some = packed(data, limit_bytes=size // 2)
    assert 10 <= some.shown <= 20
    assert some.failures == 40
    rows = read(some)["rows"]
    tasks = [{row["task"] for row in rows if row["candidate"] == alias} for alias in ("a", "b")]
    assert len(tasks[0] ^ tasks[1]) <= 1
    first = sorted(range(20), key=lambda number: sha256_bytes(task_id(number).encode()))
    assert set(map(task_id, first[: min(map(len, tasks))])) == tasks[0] & tasks[1]


@given(
    st.lists(st.tuples(st.binary(min_size=2, max_size=2), st.integers(1, 40)), unique_by=lambda one: one[0]),
    st.integers(0, 200),
    st.randoms(use_true_random=False),
)
def test_choice_is_the_longest_beginning_by_rank_that_fits_in_whatever_order_it_comes(
    entries: list[tuple[bytes, int]], limit: int, random: Any
) -> None:
    expected: set[bytes] = set()
    size = 0
    for rank, length in sorted(entries):
        size += length
        if size > limit:
            break
        expected.add(rank)
    shuffled = list(entries)
    random.shuffle(shuffled)
    chosen = Chosen(limit)
    for rank, length in shuffled:
        chosen.add(rank, rank.ljust(length)[:length] if length >= 2 else rank[:1])
    kept = [(rank, length) for rank, length in shuffled if rank in expected]
    assert chosen.in_order() == [rank.ljust(length)[:length] if length >= 2 else rank[:1] for rank, length in kept]
    assert chosen.seen == len(entries)


def test_nothing_failed_is_an_empty_list() -> None:
    held = packed(page_data({"a": [None]}))
    assert (held.shown, held.failures, read(held)) == (0, 0, {"rows": []})


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_every_departure_is_told(name: str) -> None:
    row = told(ANSWERS[name])
    assert row["failed"]
    assert row["gate"] == row["failed"][0]
