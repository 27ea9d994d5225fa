"""What recorded results release, and which call ids a result can be handed back to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.drive.results import Closing, RecordedResults, Released, usable_call_ids
from bfcl.modelio.chat_reply import read_reply
from tests.evaluate.driven import SCORING, body_of_reply, calls, made, script, wire_call


@pytest.mark.parametrize(
    ("ids", "usable"),
    [
        ([], True),
        (["a"], True),
        (["a", "b"], True),
        ([None], False),
        ([""], False),
        (["a", None], False),
        (["a", "b", "a"], False),
    ],
)
def test_call_ids_are_usable_where_each_call_has_its_own(ids: list[str | None], usable: bool) -> None:
    assert usable_call_ids([replace(made("f"), id=one) for one in ids]) is usable


@pytest.mark.parametrize(("advancing", "released"), [(True, ["V-0", "V-1"]), (False, [])])
def test_recorded_results_are_those_of_the_gold_calls_claimed(advancing: bool, released: list[str]) -> None:
    of = script()
    turn = of.turns[0]
    swapped = calls(*(wire_call("read_valve", {"valve": valve}, call_id=valve) for valve in ("V-0", "V-1")))
    response = read_reply(body_of_reply(swapped), selected_attempt=0, provider_request_id=None)
    matches = Kernel(SCORING, of.tools).match(response.tool_calls, turn.calls)
    results = RecordedResults()

    async def played() -> tuple[Released, Closing]:
        assert await results.open(of) is None
        assert results.gold(turn) == (turn.calls, ())
        told = await results.release(turn, response, matches, advancing=advancing)
        return told, await results.close("completed")

    told, closing = asyncio.run(played())
    texts = tuple(f'{{"grade":"ä","status":"ok","valve":"{valve}"}}' for valve in released)
    assert told == Released(texts=texts, executions=(), status=None)
    assert closing == Closing(status="completed", assertions=None, final_state=None, state_known=True)
