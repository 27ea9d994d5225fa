"""Records to rows and back: exact columns, exact values, canonical lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.records.balance import BalancedTask
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.plan import Plan
from bfcl.records.quality import SurfaceCheck, SurfaceQuality
from bfcl.records.surface import Surface, Turn, Violation
from bfcl.records.task import SlotDelivery, Task
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, SchemaFailure, SchemaVerdict, ToolResult
from bfcl.tables import codec
from bfcl.tables.columns import COLUMNS

ID, TEMPLATE = TaskId("kiln_studio__fire__00"), TemplateId("fire")


def task(**fields: Any) -> Task:
    values: dict[str, Any] = {
        "task_id": ID,
        "base_task_id": ID,
        "template_id": TEMPLATE,
        "pack_id": "kiln_studio",
        "pack_version": "1.0",
        "intent": None,
        "category": "firings",
        "difficulty": None,
        "turn_policy": "correction",
        "call_order": "prefix",
        "call_order_prefix": 1,
        "variant_index": 0,
        "seed": 2**64 - 1,
        "mutates": True,
        "required_tools": ("start", "look"),
        "tools_present": ("look", "start"),
        "success_assertions": (),
        "edge_signatures": ("rare",),
        "fixture_refs": ('["kilns","K-1"]',),
        "slots": {"cone": 9, "kiln": "lò số 1"},
        "slots_initial": {"cone": 4, "kiln": "lò số 1"},
        "slot_updates": (SlotDelivery(entry_index=1, values={"cone": 9}, aliases={"new": 9}),),
    }
    return Task(**{**values, **fields})


PLAN = Plan(
    task_id=ID,
    template_id=TEMPLATE,
    turn_policy="single_turn",
    num_user_turns=1,
    num_tool_calls=2,
    is_multi_turn=False,
    has_user_confirmation=False,
    has_slot_correction=False,
    steps=({"kind": "user", "source": "first_turn"}, {"kind": "calls", "call_group": 0, "tools": ("a", "b")}),
)
SURFACE = Surface(
    task_id=ID,
    base_task_id=ID,
    variant_index=0,
    source="template",
    language="vi",
    system_prompt_id="sha256:00",
    paraphrase_model=None,
    paraphrase_model_canonical=None,
    profile_hash=None,
    num_user_turns=1,
    accepted=False,
    guard_violations=(
        Violation(guard="must_omit", key="slot", value="kiln"),
        Violation(guard="must_not_mention", key="tool", value="start"),
        Violation(guard="must_not_mention", key="phrase", value="lò"),
        Violation(guard="novel_literal", key="reason", value="code"),
    ),
    turns=(
        Turn(kind="user", content="Đốt lò."),
        Turn(kind="calls", call_group=0),
        Turn(kind="assistant_text", content=""),
    ),
)
CALL = Call(
    turn_index=0, call_group=0, position_in_group=0, function_name="start", arguments={"cone": 4, "deep": [{"a": None}]}
)
TRACE = Trace(
    task_id=ID, template_id=TEMPLATE, turn_policy="single_turn", derived=True, drop_reason=None, calls=(CALL,)
)
SCHEMA = SchemaVerdict(
    task_id=ID,
    template_id=TEMPLATE,
    valid=False,
    reject_reason="expected_trace_schema_mismatch",
    failures=(SchemaFailure(code="unknown_argument", message="m", call_index=0, pointer="/x"),),
)
REPLAY = ReplayVerdict(
    task_id=ID,
    template_id=TEMPLATE,
    valid=False,
    reason="assertion_failed",
    detail="d",
    tool_results=(
        ToolResult(
            turn_index=0, call_group=0, position_in_group=0, tool="start", arguments={"cone": 4}, result={"ok": 1.0}
        ),
    ),
    assertions=(AssertionOutcome(name="assert_fired", status="failed", detail="cold"),),
)
QUALITY = SurfaceQuality(
    task_id=TaskId("kiln_studio__fire__01"),
    base_task_id=ID,
    template_id=TEMPLATE,
    variant_index=1,
    surface_source="model",
    turn_policy="single_turn",
    contract_version="1.1",
    drop_source="python",
    drop_reasons=("leakage:tool_name_leakage",),
    advisory_failures=("fluency_naturalness:repetition",),
    judge_error="missing_response",
    checks=(
        SurfaceCheck(check="surface_shape", status="passed", source="python"),
        SurfaceCheck(check="semantic_preservation", status="passed", source="python"),
        SurfaceCheck(
            check="leakage", status="failed", source="python", reason_code="tool_name_leakage", evidence="start"
        ),
        SurfaceCheck(check="language_locale", status="error", source="surface_judge", reason_code="missing_response"),
        SurfaceCheck(check="fluency_naturalness", status="failed", source="surface_judge", reason_code="repetition"),
        SurfaceCheck(check="clarity_coherence", status="not_applicable", source="surface_judge"),
    ),
)

BALANCED = BalancedTask(
    task_id=ID,
    contract_version="1.0",
    selected=False,
    is_duplicate=True,
    duplicate_cluster_id="dedup-1",
    representative_task_id=TaskId("kiln_studio__fire__01"),
    drop_reason="balance_quota",
    balance_dimension="category",
    selection_rank=None,
    curator_cluster_id=None,
    curator_is_duplicate=False,
    curator_predecessor_id=None,
    curator_similarity_score=0.25,
    text_hash="a1",
    capability_signature="b2",
    language="vi",
    edge_signatures=("rare",),
    intent="fire",
    category="firings",
    required_tools=("look", "start"),
    tools_present=("look", "mở", "start"),
    difficulty="easy",
    turn_class="multi_turn",
    tool_call_count="3+",
    turn_policy="correction",
    num_turns=2,
    num_tool_calls=4,
    coverage_locked=False,
    representative_rank=(False, 3, "c3"),
)

SAMPLES: list[tuple[codec.Codec[Any], Any]] = [
    (codec.TASKS, task()),
    (codec.TASKS, task(slots={}, slots_initial={}, slot_updates=())),
    (codec.PLANS, PLAN),
    (codec.SURFACES, SURFACE),
    (codec.TRACES, TRACE),
    (codec.SCHEMA_VERDICTS, SCHEMA),
    (codec.REPLAY_VERDICTS, REPLAY),
    (codec.QUALITIES, QUALITY),
    (codec.BALANCED, BALANCED),
]


@pytest.mark.parametrize(("table", "record"), SAMPLES)
def test_decode_inverts_encode(table: codec.Codec[Any], record: Any) -> None:
    line = table.encode(record)
    assert table.decode(line) == record
    assert line == codec.encode_line(table.to_row(record))
    assert codec.encode_line(codec.decode_line(line)) == line


@pytest.mark.parametrize(("table", "record"), SAMPLES)
def test_to_row_has_exactly_the_columns_in_order(table: codec.Codec[Any], record: Any) -> None:
    row = table.to_row(record)
    assert list(row) == [name for name, _ in COLUMNS[table.artifact]]
    for name, kind in COLUMNS[table.artifact]:
        if kind == "j":
            text = row[name]
            assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_task_row_writes_json_columns_as_canonical_text() -> None:
    row = codec.task_row(task())
    assert row["slots"] == '{"cone":9,"kiln":"lò số 1"}'
    assert row["slots_initial"] == '{"cone":4,"kiln":"lò số 1"}'
    assert row["slot_updates"] == '[{"aliases":{"new":9},"entry_index":1,"values":{"cone":9}}]'
    assert codec.encode_line({"b": None, "a": [row["slots"]]}) == (
        '{"a":["{\\"cone\\":9,\\"kiln\\":\\"lò số 1\\"}"],"b":null}'.encode()
    )


def test_rows_publish_the_documented_json() -> None:
    assert codec.plan_row(PLAN)["steps"] == (
        '[{"kind":"user","source":"first_turn"},{"call_group":0,"kind":"calls","tools":["a","b"]}]'
    )
    assert codec.surface_row(SURFACE)["guard_violations"] == (
        '[{"guard":"must_omit","slot":"kiln"},{"guard":"must_not_mention","tool":"start"},'
        '{"guard":"must_not_mention","phrase":"lò"},{"guard":"novel_literal","reason":"code"}]'
    )
    assert codec.surface_row(SURFACE)["turns"] == (
        '[{"content":"Đốt lò.","kind":"user"},{"call_group":0,"kind":"calls"},{"content":"","kind":"assistant_text"}]'
    )
    assert codec.trace_row(TRACE)["num_tool_calls"] == 1
    assert codec.trace_row(TRACE)["expected_tool_calls"] == (
        '[{"arguments":{"cone":4,"deep":[{"a":null}]},"call_group":0,"function_name":"start","position_in_group":0,'
        '"turn_index":0}]'
    )
    assert codec.schema_row(SCHEMA)["failure_count"] == 1
    assert codec.replay_row(REPLAY)["assertions"] == (
        '[{"detail":"cold","name":"assert_fired","passed":false,"status":"failed"}]'
    )


def test_balanced_row_holds_tool_sets_and_rank_as_canonical_json() -> None:
    row = codec.balanced_row(BALANCED)
    texts = (row["required_tools"], row["tools_present"], row["representative_rank"])
    assert texts == ('["look","start"]', '["look","mở","start"]', '[false,3,"c3"]')


def test_quality_row_says_the_decision_and_every_check() -> None:
    row = codec.quality_row(QUALITY)
    assert (row["accepted"], row["decision"], row["drop_source"]) == (False, "dropped", "python")
    statuses = [row[name] for name in row if name.endswith("_status")]
    assert statuses == ["passed", "passed", "failed", "error", "failed", "not_applicable"]
    assert row["checks"].startswith(
        '[{"check":"surface_shape","evidence":null,"reason_code":null,"source":"python","status":"passed"},'
    )


def test_surface_from_row_refuses_a_violation_of_no_known_key() -> None:
    row = codec.surface_row(SURFACE)
    with pytest.raises(KeyError, match="slot, tool, phrase, reason"):
        codec.surface_from_row({**row, "guard_violations": '[{"guard":"must_omit"}]'})


def test_encode_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        codec.TASKS.encode(task(slots={"cone": float("nan")}))


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.one_of(_SCALARS, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(_TEXT, _JSON, max_size=4), st.integers(0, 2**64 - 1), _TEXT)
def test_decode_inverts_encode_for_any_values(values: dict[str, Any], seed: int, text: str) -> None:
    made = task(slots=values, seed=seed, category=text, slot_updates=())
    back = codec.TASKS.decode(codec.TASKS.encode(made))
    assert back == made
    assert codec.canonical_text(back.slots) == codec.canonical_text(values)
    call = Call(turn_index=0, call_group=0, position_in_group=0, function_name=text, arguments=values)
    trace = Trace(
        task_id=ID, template_id=TEMPLATE, turn_policy=text, derived=True, drop_reason=text, calls=(call, call)
    )
    assert codec.TRACES.decode(codec.TRACES.encode(trace)) == trace
