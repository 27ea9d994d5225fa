"""Gold calls whose arguments come from live results."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.drive.dependencies import Paired, paired, resolve
from bfcl.evaluate.records import CallMatch, Execution, GoldCall, Resolution
from bfcl.oracle.protocol import ResultPath
from bfcl.stages.arguments import checker

SCHEMA = checker(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}},
        "required": ["name"],
    }
)
GOLD = GoldCall(index=3, tool="use", arguments={"name": "old", "n": 1}, recorded_result="{}")
LINK = {"name": ResultPath(call=1, path=("items", 0, "name"))}


def claim(result: str | None, gold_index: int = 1) -> Paired:
    return Paired(gold_index=gold_index, result=result)


def resolved(*claims: Paired) -> tuple[GoldCall, Resolution]:
    call, (found,) = resolve(GOLD, LINK, claims, SCHEMA)
    return call, found


def test_resolve_fills_in_the_live_value_where_the_argument_stood() -> None:
    call, found = resolved(claim('{"items":[{"name":"new"}]}'), claim('{"items":[{"name":"x"}]}', 0))
    assert (call.arguments, [*call.arguments]) == ({"name": "new", "n": 1}, ["name", "n"])
    assert found == Resolution(
        gold_index=3,
        parameter="name",
        producer_index=1,
        path=("items", 0, "name"),
        status="resolved",
        value="new",
    )


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ((), "producer_missing"),
        ((claim("{}", 0),), "producer_missing"),
        ((claim("{}"), claim("{}")), "producer_ambiguous"),
        ((claim(None),), "result_unavailable"),
        ((claim('{"error":{"code":"none"}}'),), "result_unavailable"),
        ((claim('{"items":[]}'),), "result_path_missing"),
        ((claim('{"items":{"x":1}}'),), "result_path_missing"),
        ((claim('{"items":[{"name":null}]}'),), "result_path_missing"),
        ((claim('{"items":[{"name":["a"]}]}'),), "result_path_missing"),
        ((claim('{"items":[{"name":7}]}'),), "result_type_mismatch"),
        ((claim('{"items":[{"name":true}]}'),), "result_type_mismatch"),
        ((claim('{"items":[{"name":"longer"}]}'),), "consumer_schema_invalid"),
    ],
)
def test_resolve_says_why_there_is_no_value_and_never_takes_the_recorded_one(
    claims: Sequence[Paired], status: str
) -> None:
    call, found = resolved(*claims)
    assert found.status == status
    expected: dict[str, Json] = {"n": 1} if status != "consumer_schema_invalid" else {"name": "longer", "n": 1}
    assert call.arguments == expected


def test_paired_takes_full_claims_only_with_what_they_were_answered() -> None:
    def match(index: int, gold: int | None, *, full: bool) -> CallMatch:
        return CallMatch(
            call_index=index, gold_index=gold, name_matches=gold is not None, arguments_match=full, schema_reasons=()
        )

    def execution(index: int, result: str | None) -> Execution:
        return Execution(
            call_index=index,
            status="completed",
            reason=None,
            tool="use",
            arguments={},
            result=result,
            commit="not_applicable",
            detail=None,
        )

    matches = [match(0, 5, full=True), match(1, 6, full=False), match(2, None, full=False), match(3, 7, full=True)]
    executions = [execution(0, "{}"), execution(1, "{}"), execution(2, "{}"), execution(3, None)]
    assert paired(matches, executions) == (claim("{}", 5), claim(None, 7))
