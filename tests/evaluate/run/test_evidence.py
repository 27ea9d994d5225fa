from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import EvalError
from bfcl.evaluate.run.evidence import DigestSum, Used
from bfcl.evaluate.run.records import Records
from bfcl.modelio.candidate_cache import FILE, CandidateCache
from bfcl.modelio.chat_cached import CachedChat
from tests.evaluate.driven import Answering, as_expected, candidate, play, script


@given(things=st.lists(st.integers(0, 5)), other=st.lists(st.integers(0, 5)))
def test_digest_sums_agree_exactly_where_the_same_things_were_counted(things: list[int], other: list[int]) -> None:
    one, two = DigestSum(), DigestSum()
    for thing in things:
        one.add(thing)
    for thing in other:
        two.add(thing)
    assert (one.total == two.total) == (sorted(things) == sorted(other))


def recorded(path: Path, *tasks: str) -> tuple[Used, Records]:
    """One episode, and a record that holds its calls and those of further tasks."""
    cache = CandidateCache(path / FILE)
    own = script()
    used = Used()

    class Keeping(Answering):
        async def complete(self, request, deadline):  # type: ignore[no-untyped-def]
            return await CachedChat(cache, Answering(self._answer)).complete(request, deadline)

    client = Keeping(lambda request: as_expected(own.turns[request.turn_index]))
    used.add(play(own, client), None)
    for alias in tasks:
        play(own, client, asked=candidate(alias))
    return used, Records(calls=cache, episodes=None, earlier_calls=None, earlier_episodes=None, imported=None)


def test_record_of_exactly_the_calls_made_holds_and_of_fewer_does_not(tmp_path: Path) -> None:
    used, records = recorded(tmp_path)
    used.check(records)
    assert records.calls is not None
    assert len(list(records.calls.exchanges())) == len(script().turns)
    used.add(play(script(), Answering(lambda request: as_expected(script().turns[request.turn_index]))), None)
    with pytest.raises(EvalError, match="holds other calls than those that the scores are made of"):
        used.check(records)


def test_record_with_a_call_that_no_score_is_made_of_is_refused(tmp_path: Path) -> None:
    used, records = recorded(tmp_path, "other")
    with pytest.raises(EvalError, match="holds other calls than those that the scores are made of") as refusal:
        used.check(records)
    assert refusal.value.problems[0].code == "eval_artifact_invalid"


def test_record_that_lacks_a_call_is_refused(tmp_path: Path) -> None:
    used, _ = recorded(tmp_path)
    empty = Records(
        calls=CandidateCache(tmp_path / "other.jsonl"),
        episodes=None,
        earlier_calls=None,
        earlier_episodes=None,
        imported=None,
    )
    with pytest.raises(EvalError, match="holds other calls"):
        used.check(empty)
