"""What did the stages decide about one task, as its rows in their five tables say? Rule: generation.md §3."""

from __future__ import annotations

import json
from typing import NamedTuple

from bfcl.records.ids import TaskId, TemplateId
from bfcl.tables.codec import Row


class Decision(NamedTuple):
    """All that planning and counting need of a task."""

    task_id: TaskId
    template_id: TemplateId
    turn_policy: str
    canonical: bool
    """Not a paraphrase."""
    has_distractor: bool
    """The row shows a tool it does not require."""
    guards: tuple[str, ...]
    """Surface guards violated, each once; none means accepted."""
    trace_drop_reason: str | None
    schema_valid: bool
    replay_valid: bool
    replay_reason: str | None


def decide(task: Row, surface: Row, trace: Row, schema: Row, replay: Row) -> Decision:
    """Gather one task's verdicts from its rows, which must be of one task: see `final_output.disagreement`.

    Rows and not records, since of a hundred thousand conversations only these columns are read here.
    """
    violations = surface["guard_violations"]
    return Decision(
        task_id=task["task_id"],
        template_id=task["template_id"],
        turn_policy=task["turn_policy"],
        canonical=task["variant_index"] == 0,
        has_distractor=not set(task["tools_present"]) <= set(task["required_tools"]),
        guards=() if violations == "[]" else tuple(dict.fromkeys(one["guard"] for one in json.loads(violations))),
        trace_drop_reason=trace["drop_reason"],
        schema_valid=schema["valid"],
        replay_valid=replay["valid"],
        replay_reason=replay["reason"],
    )
