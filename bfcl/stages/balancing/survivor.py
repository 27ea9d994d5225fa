"""What do the stages hold of each survivor of stage 10, as far as balancing asks? Rule: generation.md §3.8."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final, NamedTuple, TypeVar

from bfcl.errors import Problem, StageError, raise_all
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.plan import Outline
from bfcl.records.quality import SurfaceQuality
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.execution_case import capability_signature, execution_case
from bfcl.stages.balancing.projection import projection, text_hash
from bfcl.stages.surface_quality import user_turns

_COUNTED: Final = ("intent", "category", "difficulty")


class Survivor(NamedTuple):
    """One task that stage 10 kept, with the order of its conversation, its wording and the verdict on that."""

    task: Task
    outline: Outline
    surface: Surface
    quality: SurfaceQuality


class Gathered(NamedTuple):
    """Candidates in input order, and what each one's user says, masked."""

    candidates: tuple[Candidate, ...]
    texts: dict[TaskId, str]


def gather(survivors: Iterable[Survivor]) -> Gathered:
    """All that balancing knows of the survivors; tasks are told apart here, their records are not needed again.

    Raises: StageError `balancing_field_missing`, one problem a template that lacks what balancing counts by.
    """
    candidates: list[Candidate] = []
    texts: dict[TaskId, str] = {}
    lacking: dict[TemplateId, list[str]] = {}
    same = _Same()
    for survivor in survivors:
        task = survivor.task
        missing = [name for name in _COUNTED if not getattr(task, name)]
        if missing:
            lacking.setdefault(task.template_id, missing)
            continue
        text = projection(task, user_turns(survivor.surface))
        texts[task.task_id] = same(text)
        candidates.append(_candidate(survivor, text, same))
    raise_all(StageError, [_missing(template_id, missing) for template_id, missing in sorted(lacking.items())])
    return Gathered(tuple(candidates), texts)


def _missing(template_id: TemplateId, names: list[str]) -> Problem:
    return Problem(
        code="balancing_field_missing",
        message=f"lacks {', '.join(f'`{name}`' for name in names)}; balancing counts its tasks by them",
        subject=template_id,
        fix="give the template these fields, or disable `semantic_deduplication_config`",
    )


Value = TypeVar("Value", bound=Hashable)


class _Same:
    """Rows are many and most of what they say is alike: of equal values all rows hold one, which saves a KiB a row."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def __call__(self, value: Value) -> Value:
        """The first value equal to this one."""
        first: Value = self._known.setdefault(value, value)
        return first

    def sorted(self, values: Iterable[str]) -> tuple[str, ...]:
        """The same of a sorted tuple."""
        return self(tuple(map(self, sorted(values))))


def _candidate(survivor: Survivor, text: str, same: _Same) -> Candidate:
    task, outline, surface, quality = survivor
    return Candidate(
        task_id=task.task_id,
        template_id=same(task.template_id),
        language=same(surface.language),
        source=surface.source,
        intent=same(task.intent or ""),
        category=same(task.category),
        difficulty=same(task.difficulty or ""),
        turn_policy=same(task.turn_policy),
        edge_signatures=same.sorted(set(task.edge_signatures)),
        required_tools=same.sorted(task.required_tools),
        tools_present=same.sorted(task.tools_present),
        num_turns=outline.num_user_turns,
        num_tool_calls=outline.num_tool_calls,
        text_hash=same(text_hash(text)),
        capability_signature=same(capability_signature(task)),
        execution_case=execution_case(task, outline),
        judge_error=quality.judge_error is not None,
        advisory_failures=len(quality.advisory_failures),
        failed_checks=sum(check.status in ("failed", "error") for check in quality.checks),
    )
