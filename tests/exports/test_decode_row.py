"""Every JSON column of a row decoded, and every way in which columns contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bfcl.exports.decode_row import Fault, decode_row
from tests.exports.staged import decoded, edited, plain_row, row, row_with_arguments

SCHEMA = "export_schema_mismatch"


def test_row_decodes_with_arguments_in_the_order_derived() -> None:
    read = decoded(row())
    assert [tool["type"] for tool in read.tools] == ["function"] * 3
    assert list(read.calls[2].arguments) == ["valve", "bar"]
    assert read.calls[2].arguments == {"valve": "V-1", "bar": 1}
    assert read.metadata["expt_name"] == "demo"
    assert [len(turn) for turn in read.user_turns()] == [6, 4]
    assert [[call.function_name for call in turn] for turn in read.calls_by_user_turn()] == [
        ["read_valve", "read_valve"],
        ["set_valve"],
    ]


def test_row_without_calls_keeps_its_empty_turn() -> None:
    assert decoded(plain_row()).calls_by_user_turn() == [[]]


def test_row_keeps_types_that_python_calls_equal() -> None:
    values = {"a": 1, "b": 1.0, "c": True, "d": "1"}
    read = decoded(row_with_arguments(values))
    assert {name: type(value) for name, value in read.calls[2].arguments.items()} == {
        "a": int,
        "b": float,
        "c": bool,
        "d": str,
    }


METADATA = '{"base_task_id":"b","expt_name":%s,"language":"en","profile_hash":null,"surface_source":"template"}'


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["category"], None, "`category` is null"),
        (["messages"], None, "`messages` is null"),
        (["tools"], "{}", "`tools` is no list"),
        (["tools"], "[ ]", "`tools` is not canonical JSON: ' ]' at character 1"),
        (["tools"], "[]", "`tools` holds nothing, `tools_present` read_valve, set_valve, list_alarms"),
        (
            ["tools"],
            '[{"function":{"name":"read_valve"},"type":"function"},{"name":"set_valve"}]',
            "`tools` holds read_valve, no function, `tools_present` read_valve, set_valve, list_alarms",
        ),
        (
            ["metadata"],
            "1",
            "`metadata` is 1, expected an object of base_task_id, expt_name, language, profile_hash, surface_source",
        ),
        (["metadata"], METADATA % "7", "`metadata.expt_name` is 7, expected text"),
        (["metadata"], "{", "`metadata` is no JSON: '{'"),
        (
            ["expected_tool_calls", 0, "arguments"],
            [("valve", "1.0"), ("valve", "1")],
            "`expected_tool_calls[0]` gives argument `valve` more than once",
        ),
        (
            ["expected_tool_calls", 0, "arguments"],
            [("valve", "01")],
            "`expected_tool_calls[0]` argument `valve` is no JSON: '01'",
        ),
        (["messages", 3, "content"], "ok", "`messages[3].content` is no JSON: 'ok'"),
        (
            ["required_tools_fingerprint"],
            "[]",
            '`required_tools_fingerprint` is [], expected ["read_valve","set_valve"]',
        ),
        (["num_tool_calls"], 2, "`num_tool_calls` is 2, expected 3"),
        (["is_multi_turn"], False, "`is_multi_turn` is False, expected True"),
        (["src"], "plant", "`src` is plant, expected plant:read_then_set"),
        (["held_out_hit"], True, "`held_out_hit` is true: the row uses reserved material"),
    ],
)
def test_row_with_one_edit_has_one_fault(path: Sequence[str | int], value: object, message: str) -> None:
    assert decode_row(edited(row(), path, value)) == [Fault(SCHEMA, message)]


def test_row_with_wire_arguments_in_free_spelling_has_both_faults() -> None:
    told = edited(row(), ["messages", 7, "tool_calls", 0, "function", "arguments"], '{"bar": 1,"valve":"V-1"}')
    assert decode_row(told) == [
        Fault(SCHEMA, '`messages[7]` arguments of call_2 is not canonical JSON: \' 1,"valve":"V-1"}\' at character 7'),
        Fault("unsupported_export_call_layout", "message 7 makes call_2 with other arguments than expected"),
    ]


def test_row_tells_every_fault_at_once() -> None:
    told = edited(edited(row(), ["tools"], "{}"), ["messages", 5, "content"], None)
    assert decode_row(edited(told, ["num_tool_calls"], 0)) == [
        Fault(SCHEMA, "`tools` is no list"),
        Fault(SCHEMA, "`num_tool_calls` is 0, expected 3"),
        Fault("unsupported_export_call_layout", "message 5 has neither content nor tool calls"),
    ]
