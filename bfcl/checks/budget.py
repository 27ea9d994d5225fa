"""How many tasks do the templates of each category offer, and is that what the budget asks? Rule: pack.md §11, check 7.

A budget out of reach is no fault where the pack has no more to give: generation stops at what there is, and its author
wants to know before. Where a held-out policy keeps the rest back, generation refuses: then it is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bfcl.checks.findings import Findings, field_pointer, from_problem, placed
from bfcl.config.model import RunConfig
from bfcl.errors import Problem
from bfcl.pack.model import HeldOut, Pack
from bfcl.records.ids import TemplateId
from bfcl.records.template import Template
from bfcl.records.verdict import Finding
from bfcl.stages.bindings import Sources, sources_of
from bfcl.stages.expand import bound_tasks, budget_problems, pool_sizes, settings_of
from bfcl.stages.held_out_bindings import bindable_templates, emptied_categories, short_categories


class Offer(NamedTuple):
    """What a category's templates offer together; `whole` where every one of them binds."""

    category: str
    templates: int
    tasks: int
    whole: bool


def offers(templates: Sequence[Template], sizes: Mapping[TemplateId, int]) -> Iterator[Offer]:
    """One offer a category, by first appearance. `templates` may be bound; `sizes` lacks those whose slots do not."""
    for category in dict.fromkeys(template.category for template in templates):
        members = [template.template_id for template in templates if template.category == category]
        tasks = sum(sizes.get(member, 0) for member in members)
        yield Offer(category, len(members), tasks, whole=sizes.keys() >= set(members))


def findings(pack: Pack, config: RunConfig) -> Findings:
    """Budgets below their templates, categories that the held-out policy starves; else offers below their budget.

    What does not bind is told elsewhere.
    """
    budget = config.task_generation.tasks_per_category
    free, sources = bindable_templates(pack.templates, pack.held_out), sources_of(pack)
    settings = settings_of(config, pack.manifest)
    sizes = pool_sizes(free, sources, settings).sizes
    failures = [from_problem(problem) for problem in budget_problems(free, budget)]
    starved: dict[str, list[Problem]] = {}
    if pack.held_out is not None:
        failures += [_of_policy(pack, problem) for problem in emptied_categories(pack.templates, pack.held_out)]
        starved = _starved(pack.templates, pack.held_out, sources, bound_tasks(free, sizes, settings.limit), budget)
        failures += [_of_policy(pack, problem) for problems in starved.values() for problem in problems]
    short = [offer for offer in offers(free, sizes) if offer.whole and offer.tasks < budget]
    return Findings(failures, [_unreachable(offer, budget) for offer in short if offer.category not in starved])


def _starved(
    templates: Sequence[Template], held_out: HeldOut, sources: Sources, bound: Mapping[str, int], budget: int
) -> dict[str, list[Problem]]:
    """By category, why the policy leaves it short; only categories that are."""
    found: dict[str, list[Problem]] = {}
    for category in dict.fromkeys(template.category for template in templates):
        members = [template for template in templates if template.category == category]
        problems = list(short_categories(members, held_out, sources, bound, budget))
        if problems:
            found[category] = problems
    return found


def _of_policy(pack: Pack, problem: Problem) -> Finding:
    found = Finding(code=problem.code, message=problem.message, fix=problem.fix)
    document = pack.documents.get("held_out")
    return placed(pack, "held_out", field_pointer(document.value if document else None, problem.field), found)


def _unreachable(offer: Offer, budget: int) -> Finding:
    return Finding(
        code="category_budget_not_reachable",
        message=f"the templates of category `{offer.category}` offer {offer.tasks} tasks; its budget is {budget}",
        fix="add fixture rows or templates, or lower `task_generation.tasks_per_category`",
        setting="task_generation.tasks_per_category",
    )
