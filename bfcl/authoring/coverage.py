"""What do a pack's probes, templates, assertions and bindings cover, and what is missing? Rule: authoring.md §15."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from bfcl.checks import assertions_importable, declared_validation_cases, probes
from bfcl.checks.budget import offers
from bfcl.checks.report import as_problem
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, Problem
from bfcl.oracle.protocol import Oracle
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.held_out import fixture_ref
from bfcl.pack.layout import shown
from bfcl.pack.model import Pack
from bfcl.pack.slots import parse_source
from bfcl.records.ids import TURN_POLICIES, TemplateId
from bfcl.records.template import Template
from bfcl.records.verdict import Finding
from bfcl.stages.bindings import Sources, sources_of
from bfcl.stages.expand import ExpandSettings, allocate, budget_problems, pool_sizes
from bfcl.stages.held_out_bindings import bindable_templates
from bfcl.stages.row_links import draws

MODULE: Final = "(module)"
"""Where assertions.py names a tool outside any function."""
COUNTED: Final = 10_000
"""Bindings of a template are counted up to here; a slot over a range may offer millions."""
Sides: TypeAlias = Mapping[str, int]
"""How many probes of a tool are a success, a refusal (`negative`), of these waiting for confirmation (`pending`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCover:
    """One tool. `observed` is None where the probes were not run; `broken` probes came to no answer."""

    name: str
    gated: bool
    declared: Sides
    observed: Sides | None
    broken: int
    templates: tuple[str, ...]
    """Templates with a call of it, in pack order."""
    assertions: tuple[str, ...]
    """Functions of assertions.py that name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateCover:
    """One template's stock of bindings, None where its slots do not bind; `tasks` is its share of the budget."""

    template_id: str
    category: str
    turn_policy: str
    reserved: bool
    bindings: int | None
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryCover:
    """One budget group: its templates may bind `bindings` tasks of which a run wants `budget`."""

    category: str
    templates: int
    budget: int
    bindings: int

    @property
    def shortfall(self) -> int:
        """Tasks of the budget for which nothing is left to bind."""
        return max(0, self.budget - self.bindings)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionCover:
    """One collection of fixtures. `unbound` are keys no slot can bind; None where its rows have no primary key."""

    name: str
    rows: int
    reserved: int
    bound: int
    templates: tuple[str, ...]
    unbound: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The whole picture. `missing` keeps the pack from Gold."""

    pack: Pack
    ran: bool
    tools: tuple[ToolCover, ...]
    policies: Mapping[str, Mapping[str, int]]
    """Turn policy to language to how many templates offer it."""
    templates: tuple[TemplateCover, ...]
    categories: tuple[CategoryCover, ...]
    collections: tuple[CollectionCover, ...]
    missing: tuple[Problem, ...]


def coverage(
    pack: Pack, config: RunConfig, oracle: Oracle | None, assertions: bytes, *, budget: int | None = None
) -> Coverage:
    """Look at everything. Without an oracle the probes count as what they declare.

    `assertions` is the source of assertions.py; `budget` replaces the configuration's tasks a category.
    Raises: OracleError if no episode can run at all.
    """
    seen = None if oracle is None else _observed(pack, oracle)
    tools = tuple(_tools(pack, seen, assertions))
    sources = sources_of(pack)
    wanted = config.task_generation.tasks_per_category if budget is None else budget
    settings = ExpandSettings(
        limit=max(COUNTED, wanted),
        seed=config.seed,
        pack_id=pack.manifest.pack_id,
        pack_version=pack.manifest.version,
    )
    bindable = bindable_templates(pack.templates, pack.held_out)
    sizes, faults = pool_sizes(bindable, sources, settings)
    untold = [*_uncovered(pack, seen), *assertions_importable.without_assertion(pack)]
    root = shown(pack.root)
    missing = [
        *(as_problem(finding, root=root) for finding in untold),
        *faults,
        *budget_problems(bindable, wanted),
    ]
    return Coverage(
        pack=pack,
        ran=oracle is not None,
        tools=tools,
        policies=_policies(pack),
        templates=tuple(_templates(pack, sizes, wanted)),
        categories=tuple(
            CategoryCover(category=one.category, templates=one.templates, budget=wanted, bindings=one.tasks)
            for one in offers(bindable, sizes)
        ),
        collections=tuple(_collections(pack, sources)),
        missing=tuple(missing),
    )


# --- tools ----------------------------------------------------------------------------------------------------------


def _observed(pack: Pack, oracle: Oracle) -> probes.Observed:
    chains = probes.chained(pack.cases)
    results = oracle.run([probes.episode(pack.cases, chain) for chain in chains])
    return probes.observe(pack, chains, results)


def _uncovered(pack: Pack, seen: probes.Observed | None) -> Iterator[Finding]:
    """Tools without a success or a refusal, as check 5 tells them; by what the cases declare where nothing ran."""
    if seen is not None:
        return declared_validation_cases.coverage_gaps(pack, seen)
    return declared_validation_cases.uncovered(pack, declared_validation_cases.declared_coverage(pack.cases))


def _tools(pack: Pack, seen: probes.Observed | None, assertions: bytes) -> Iterator[ToolCover]:
    named = named_by(assertions, {tool.name for tool in pack.tools})
    unanswered = Counter(pack.cases[at].tool for one in seen.broken for at in (one.index, *one.aborted)) if seen else {}
    for tool in pack.tools:
        declared = [_declared(pack, index) for index, case in enumerate(pack.cases) if case.tool == tool.name]
        answers = None if seen is None else [_answered(one) for one in seen.answers if one.case.tool == tool.name]
        yield ToolCover(
            name=tool.name,
            gated=tool.requires_confirmation,
            declared=_sides(declared),
            observed=None if answers is None else _sides(answers),
            broken=unanswered.get(tool.name, 0),
            templates=tuple(each.template_id for each in pack.templates if tool.name in _called(each)),
            assertions=tuple(named.get(tool.name, ())),
        )


def _called(template: Template) -> set[str]:
    return {one.tool for one in template.assistant_milestones if one.type == "tool_call" and one.tool is not None}


def _declared(pack: Pack, index: int) -> tuple[str, ...]:
    case = pack.cases[index]
    if not probes.declares_refusal(case):
        return ("success",)
    return ("negative", "pending") if case.expect.get("result_class") == "awaiting_confirmation" else ("negative",)


def _answered(one: probes.Observation) -> tuple[str, ...]:
    if not one.is_negative:
        return ("success",)
    return ("negative", "pending") if one.result_class == "awaiting_confirmation" else ("negative",)


def _sides(found: Sequence[tuple[str, ...]]) -> Sides:
    counts = Counter(side for sides in found for side in sides)
    return {side: counts[side] for side in ("success", "negative", "pending")}


def named_by(source: bytes, tools: set[str]) -> dict[str, list[str]]:
    """Tool to the functions of a Python source whose text constants are its name; none where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, dict[str, None]] = {}
    for statement in tree.body:
        owner = statement.name if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) else MODULE
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in tools:
                found.setdefault(node.value, {})[owner] = None
    return {name: list(owners) for name, owners in found.items()}


# --- templates ------------------------------------------------------------------------------------------------------


def _templates(pack: Pack, sizes: Mapping[TemplateId, int], budget: int) -> Iterator[TemplateCover]:
    bindable = [one for one in pack.templates if one.template_id in sizes]
    shares = Counter(template_id for template_id, _ in allocate(bindable, sizes, budget))
    reserved = () if pack.held_out is None else pack.held_out.templates
    for template in pack.templates:
        yield TemplateCover(
            template_id=template.template_id,
            category=template.category,
            turn_policy=template.turn_policy,
            reserved=template.template_id in reserved,
            bindings=sizes.get(template.template_id),
            tasks=shares[template.template_id],
        )


def _policies(pack: Pack) -> dict[str, dict[str, int]]:
    offered = {language for template in pack.templates for language in template.user_turn_templates}
    languages = [*pack.manifest.languages, *sorted(offered - set(pack.manifest.languages))]
    others = dict.fromkeys(one.turn_policy for one in pack.templates if one.turn_policy not in TURN_POLICIES)
    return {
        policy: {
            language: sum(one.turn_policy == policy and language in one.user_turn_templates for one in pack.templates)
            for language in languages
        }
        for policy in (*TURN_POLICIES, *others)
    }


# --- fixtures -------------------------------------------------------------------------------------------------------


def _collections(pack: Pack, sources: Sources) -> Iterator[CollectionCover]:
    bound: dict[str, set[str]] = {}
    users: dict[str, dict[str, None]] = {}
    for template in bindable_templates(pack.templates, pack.held_out):
        for collection, refs in _drawn(template, sources):
            bound.setdefault(collection, set()).update(refs)
            users.setdefault(collection, {})[template.template_id] = None
    for name in pack.fixtures:
        rows = collection_rows(pack.fixtures, name)
        if rows is None:
            continue
        reserved = () if pack.held_out is None else pack.held_out.fixtures.get(name, ())
        kept = {fixture_ref(name, key) for key in reserved}
        yield CollectionCover(
            name=name,
            rows=len(rows),
            reserved=len(reserved),
            bound=len(bound.get(name, ())),
            templates=tuple(users.get(name, ())),
            unbound=_unbound(pack, name, bound.get(name, set()) | kept),
        )


def _drawn(template: Template, sources: Sources) -> Iterator[tuple[str, Sequence[str]]]:
    """Collection and row references of everything a template's slots and corrections may bind."""
    for draw in draws(template):
        try:
            collection = parse_source(draw.source).collection
        except BfclError:
            continue
        refs = sources.resolve(*draw).candidates.refs
        if collection is not None and refs is not None:
            yield collection, refs


def _unbound(pack: Pack, name: str, taken: set[str]) -> tuple[str, ...] | None:
    rows = collection_rows(pack.fixtures, name) or ()
    if not rows:
        return ()
    try:
        key = primary_key(name, rows, pack.manifest)
    except BfclError:
        return None
    values = [row[key] for row in rows]
    return tuple(
        str(value) for value in values if isinstance(value, str | int) and fixture_ref(name, value) not in taken
    )
