"""What the rows of a task say was decided."""

from __future__ import annotations

import dataclasses
from typing import Any

from bfcl.records.surface import Violation
from bfcl.tables.codec import replay_row, schema_row, surface_row, task_row, trace_row
from bfcl.tables.decisions import Decision, decide
from tests.release.samples import replay, schema, surface, task, trace


def _decided(task: Any, surface: Any, trace: Any, schema: Any, replay: Any) -> Decision:
    return decide(task_row(task), surface_row(surface), trace_row(trace), schema_row(schema), replay_row(replay))


def test_decide_gathers_the_verdicts_of_a_task() -> None:
    one = task()
    broken = [Violation(guard="must_omit", key="slot", value=name) for name in ("bar", "valve")]
    assert _decided(one, surface(one, broken), trace(one), schema(one), replay(one, "assertion_failed")) == Decision(
        task_id=one.task_id,
        template_id=one.template_id,
        turn_policy="confirmation",
        canonical=True,
        has_distractor=True,
        guards=("must_omit",),
        trace_drop_reason=None,
        schema_valid=True,
        replay_valid=False,
        replay_reason="assertion_failed",
    )
    narrow = dataclasses.replace(one, tools_present=one.required_tools, variant_index=1)
    made = _decided(narrow, surface(one), trace(one), schema(one), replay(one))
    assert (made.has_distractor, made.canonical) == (False, False)
