"""What can be counted in a run: how many tasks came through, of which kinds, with which outcomes?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from bfcl.release.report.fates import LATER, STOPS, Seen

NONE: Final = "(none)"
"""Stands for a value that a template does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What the build log says of a run's replays. Seconds are wall time."""

    seconds: Mapping[str, float]
    """Template to the seconds its shards took, only templates all of whose shards are recorded."""
    templates: int
    """How many templates the run has shards of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of the funnel. `reasons` counts the tasks it lost, most frequent first."""

    stage: str
    label: str
    stayed: int
    lost: int
    reasons: tuple[tuple[str, int], ...]


@dataclass(slots=True, kw_only=True)
class TemplateFacts:
    """What became of one template's tasks."""

    template_id: str
    category: str
    turn_policy: str
    tasks: int = 0
    published: int = 0
    losses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Stage and reason to tasks."""


@dataclass(slots=True, kw_only=True)
class Facts:
    """Counts of one run, all in table order of first occurrence; mixes are of published tasks."""

    tasks: int = 0
    published: int = 0
    losses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Stage and reason to tasks."""
    templates: dict[str, TemplateFacts] = field(default_factory=dict)
    policies: Counter[str] = field(default_factory=Counter)
    categories: Counter[str] = field(default_factory=Counter)
    difficulties: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    user_turns: Counter[int] = field(default_factory=Counter)
    calls: Counter[int] = field(default_factory=Counter)
    """Number of expected calls of a task to tasks."""
    crossing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Category and policy to tasks."""
    tool_tasks: Counter[str] = field(default_factory=Counter)
    """Tool to tasks that call it; 0 for a tool that is only shown."""
    tool_calls: Counter[str] = field(default_factory=Counter)
    assertions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Template, assertion and status to replayed tasks, lost ones included."""
    stages: tuple[str, ...] = tuple(STOPS)
    """Stages this run has, of those that can lose a task."""

    def funnel(self) -> list[Step]:
        """How many tasks came through each stage; the counts of a step's reasons add up to what it lost."""
        left = self.tasks
        steps = []
        for stage in self.stages:
            reasons = [(reason, count) for (at, reason), count in self.losses.items() if at == stage]
            lost = sum(count for _, count in reasons)
            left -= lost
            steps.append(
                Step(stage=stage, label=STOPS[stage], stayed=left, lost=lost, reasons=tuple(by_count(reasons)))
            )
        return steps


def gather(tasks: Iterable[Seen], artifacts: Iterable[str]) -> Facts:
    """Count everything in one pass. `artifacts` are those of the run, which tell what stages it has."""
    have = set(artifacts)
    facts = Facts(stages=tuple(stage for stage in STOPS if stage not in LATER or LATER[stage] in have))
    for task in tasks:
        _count(facts, task)
    return facts


def _count(facts: Facts, task: Seen) -> None:
    facts.tasks += 1
    template = facts.templates.get(task.template_id)
    if template is None:
        template = TemplateFacts(template_id=task.template_id, category=task.category, turn_policy=task.turn_policy)
        facts.templates[task.template_id] = template
    template.tasks += 1
    for name, status in task.assertions:
        facts.assertions[task.template_id, name, status] += 1
    if task.loss is not None:
        place = (task.loss.stage, task.loss.reason)
        facts.losses[place] += 1
        template.losses[place] += 1
        return
    template.published += 1
    facts.published += 1
    facts.policies[task.turn_policy] += 1
    facts.categories[task.category] += 1
    facts.difficulties[task.difficulty or NONE] += 1
    facts.languages[task.language] += 1
    facts.user_turns[task.user_turns] += 1
    facts.calls[len(task.called)] += 1
    facts.crossing[task.category, task.turn_policy] += 1
    for tool in task.tools_present:
        facts.tool_tasks.setdefault(tool, 0)
    for tool in set(task.called):
        facts.tool_tasks[tool] += 1
    for tool in task.called:
        facts.tool_calls[tool] += 1


def by_count(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Largest first, ties by name."""
    return sorted(counts, key=lambda item: (-item[1], item[0]))
