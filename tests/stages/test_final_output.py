"""What a row of the benchmark says."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable

import pytest

from bfcl.canonical import canonical_text
from bfcl.digest import sha256_json
from bfcl.records.ids import TaskId, Tier
from bfcl.records.surface import Turn
from bfcl.records.tool import Tool
from bfcl.stages.final_output import argument_order, assemble, disagreement
from bfcl.stages.gold import gold_ineligibility_reasons
from bfcl.tables.benchmark import BenchmarkRow
from tests.release.samples import (
    READ,
    SET,
    context,
    replay,
    row,
    surface,
    task,
    template,
    trace,
)

# --- Rows ---------------------------------------------------------------------------------------------------------


def test_row_carries_every_column_in_order_with_pinned_content() -> None:
    assert list(row(1)) == list(BenchmarkRow.__annotations__)
    assert sha256_json(row(1)) == "sha256:012240d562579aa044c17b52daac7c90709400239655d4f3bfc1b3a925ec14c1"  # type: ignore[arg-type]


def test_row_messages_follow_the_conversation_with_results_after_their_batch() -> None:
    def text(role: str, content: str) -> dict[str, object]:
        return {"role": role, "content": content, "tool_calls": None, "tool_call_id": None}

    def batch(*calls: tuple[str, str, str]) -> dict[str, object]:
        wire = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        return {"role": "assistant", "content": None, "tool_calls": wire, "tool_call_id": None}

    def answer(name: str, content: str) -> dict[str, object]:
        return {"role": "tool", "content": content, "tool_calls": None, "tool_call_id": name}

    assert row(1)["messages"] == [
        text("system", "You operate the valves."),
        text("user", "Check V-1, then set it to 1 bär."),
        batch(("call_0", "read_valve", '{"valve":"V-1"}'), ("call_1", "read_valve", '{"valve":"V-0"}')),
        answer("call_0", '{"grade":"ä","status":"ok","valve":"V-1"}'),
        answer("call_1", '{"grade":"ä","status":"ok","valve":"V-0"}'),
        text("assistant", "Set V-1 to 1?"),
        text("user", "Yes."),
        batch(("call_2", "set_valve", '{"bar":1,"valve":"V-1"}')),
        answer("call_2", '{"grade":"ä","status":"ok","valve":"V-1"}'),
        text("assistant", "Done."),
    ]


def test_row_expected_arguments_keep_the_order_derived_not_the_sorted_one() -> None:
    # The template declares `valve`; the slot fills the required `bar` after it.
    assert row(1)["expected_tool_calls"][2] == {
        "turn_index": 2,
        "call_group": 1,
        "position_in_group": 0,
        "function_name": "set_valve",
        "arguments": [("valve", '"V-1"'), ("bar", "1")],
    }


def test_argument_order_is_declared_first_then_required_through_references() -> None:
    tool = Tool(
        name="set_valve",
        parameters={
            "type": "object",
            "required": ["zone"],
            "allOf": [{"$ref": "#/$defs/base"}],
            "$defs": {"base": {"required": ["valve", "bar"]}},
        },
    )
    assert argument_order(template(), {"set_valve": tool}) == (("valve",), ("valve",), ("valve", "zone", "bar"))


def test_row_shows_the_present_tools_model_facing_in_their_order() -> None:
    tools = json.loads(row(1)["tools"])
    assert [tool["function"]["name"] for tool in tools] == ["read_valve", "set_valve", "list_alarms"]
    assert row(1)["tools"] == canonical_text(tools)
    assert tools[1] == {"type": "function", "function": dict(SET.model_facing()["function"])}  # type: ignore[arg-type]
    assert row(1)["required_tools"] == ["set_valve", "read_valve"]
    assert row(1)["required_tools_fingerprint"] == '["read_valve","set_valve"]'


def test_row_tools_are_encoded_once_per_list_of_tools() -> None:
    shared = context()
    assert shared.tool_texts(("read_valve",), ()) is shared.tool_texts(("read_valve",), ())
    assert shared.tool_texts((), ("read_valve",)) == ("[]", '["read_valve"]')
    assert shared.tool_texts(("read_valve",), ()) == (canonical_text([READ.model_facing()]), "[]")


def test_row_metadata_has_exactly_the_documented_keys() -> None:
    assert row(1)["metadata"] == (
        '{"base_task_id":"plant__read_then_set__0000000000000001","expt_name":"demo","language":"en",'
        '"profile_hash":null,"surface_source":"template"}'
    )


@pytest.mark.parametrize(
    ("tier", "policy", "reasons"),
    [
        ("gold", "strict_separation", ()),
        ("gold", "smoke_no_publication", ("smoke_no_publication",)),
        ("silver", "strict_separation", ("pack_tier_not_gold",)),
        ("prototype", "smoke_no_publication", ("pack_tier_not_gold", "smoke_no_publication")),
    ],
)
def test_row_is_gold_eligible_only_without_a_reason_against(tier: Tier, policy: str, reasons: tuple[str, ...]) -> None:
    one = task()
    made = assemble(one, surface(one), trace(one), replay(one), context(tier, policy))
    assert gold_ineligibility_reasons(tier, policy) == reasons
    assert (made["tier"], made["gold_eligible"]) == (tier, not reasons)


def test_row_without_assertions_claims_no_assertion() -> None:
    one = task()
    made = assemble(one, surface(one), trace(one), dataclasses.replace(replay(one), assertions=()), context())
    assert made["validated_by"] == ["schema", "replay"]


def test_row_of_a_conversation_without_calls_has_one_user_turn() -> None:
    one = task()
    turns = (Turn(kind="user", content="Hi."), Turn(kind="assistant_text", content="No."))
    made = assemble(
        one,
        dataclasses.replace(surface(one), turns=turns, num_user_turns=1),
        dataclasses.replace(trace(one), calls=()),
        dataclasses.replace(replay(one), tool_results=()),
        dataclasses.replace(context(), argument_orders={template().template_id: ()}),
    )
    assert [message["role"] for message in made["messages"]] == ["system", "user", "assistant"]
    assert (made["num_tool_calls"], made["is_multi_turn"], made["expected_tool_calls"]) == (0, False, [])


def without_group(number: int) -> BenchmarkRow:
    one = task()
    turns = tuple(turn for turn in surface(one).turns if turn.call_group != number)
    return assemble(one, dataclasses.replace(surface(one), turns=turns), trace(one), replay(one), context())


def with_turn(turn: Turn) -> BenchmarkRow:
    one = task()
    wording = dataclasses.replace(surface(one), turns=(*surface(one).turns, turn))
    return assemble(one, wording, trace(one), replay(one), context())


def with_results_swapped() -> BenchmarkRow:
    one = task()
    results = replay(one).tool_results
    verdict = dataclasses.replace(replay(one), tool_results=(results[1], results[0], results[2]))
    return assemble(one, surface(one), trace(one), verdict, context())


def with_call_elsewhere() -> BenchmarkRow:
    one = task()
    first, *rest = surface(one).turns
    early = Turn(kind="assistant_text", content="One moment.")
    wording = dataclasses.replace(surface(one), turns=(first, early, *rest))
    return assemble(one, wording, trace(one), replay(one), context())


def with_unknown_argument() -> BenchmarkRow:
    one = task()
    calls = trace(one).calls
    extra = dataclasses.replace(calls[0], arguments={"valve": "V-1", "unit": "bar"})
    changed = dataclasses.replace(trace(one), calls=(extra, *calls[1:]))
    return assemble(one, surface(one), changed, replay(one), context())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: without_group(1), "plant__read_then_set__0000000000000001: group 1 has no place in the conversation"),
        (
            lambda: with_turn(Turn(kind="calls", call_group=2)),
            "plant__read_then_set__0000000000000001: no expected call for group 2",
        ),
        (lambda: with_turn(Turn(kind="user")), "a user turn without text"),
        (
            with_results_swapped,
            "call (0, 0, 0, 'read_valve') in assistant message 0 is answered by (0, 0, 1, 'read_valve')",
        ),
        (
            with_call_elsewhere,
            "call (0, 0, 0, 'read_valve') in assistant message 1 is answered by (0, 0, 0, 'read_valve')",
        ),
        (with_unknown_argument, "a call of read_valve holds arguments its template does not give"),
        (
            lambda: assemble(task(1), surface(task(2)), trace(task(1)), replay(task(1)), context()),
            "records of several tasks, or of one that failed its replay: plant__read_then_set__0000000000000001",
        ),
        (
            lambda: assemble(task(), surface(task()), trace(task()), replay(task(), "assertion_failed"), context()),
            "records of several tasks, or of one that failed its replay: plant__read_then_set__0000000000000001",
        ),
    ],
)
def test_row_of_records_that_do_not_belong_together_is_a_bug(make: Callable[[], BenchmarkRow], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


# --- The stage tables ---------------------------------------------------------------------------------------------


def test_disagreement_is_none_where_all_tables_hold_the_same_task() -> None:
    assert disagreement({"expand": TaskId("a"), "render": TaskId("a"), "expected_trace": TaskId("a")}, "row 4") is None


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("a", "b", "row 4 is `b`, in expand it is `a`"),
        ("a", None, "row 4 is absent, in expand it is `a`"),
        (None, "b", "row 4 is `b`, in expand it is absent"),
    ],
)
def test_disagreement_names_table_row_and_both_tasks(first: str | None, second: str | None, told: str) -> None:
    ids = {name: None if one is None else TaskId(one) for name, one in (("expand", first), ("render", second))}
    fix = "\n  fix: run again with rebuild=1; if it stays, report it as a bug"
    assert str(disagreement(ids, "row 4")) == f"stage_tables_disagree: render: {told}{fix}"
