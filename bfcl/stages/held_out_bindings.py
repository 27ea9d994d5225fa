"""What does a held-out policy keep expansion from binding, and is too little left? Rule: generation.md §3.1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.pack.held_out import CONTRACT_VERSION, policy_summary
from bfcl.pack.model import HeldOut
from bfcl.records.template import Template
from bfcl.stages import stage_named
from bfcl.stages.bindings import STARVED, Sources, causes
from bfcl.stages.row_links import draws

(BINDINGS_FILE,) = stage_named("expand").under_policy

_FIX: Final = "add rows or templates, lower `task_generation.tasks_per_category`, or release ids"
_KEEP_ONE: Final = "release one of them, or add a template that is not reserved"


class Lost(NamedTuple):
    """What the slots and corrections of some templates examined and gave up to the policy."""

    attempts: int
    """Candidates examined, reserved ones included; one per slot or correction that draws it."""
    refs: frozenset[str]


def bindable_templates(templates: Sequence[Template], held_out: HeldOut | None) -> tuple[Template, ...]:
    """The templates that generation may bind, in pack order: all that the policy does not reserve."""
    reserved = frozenset(held_out.templates) if held_out is not None else frozenset()
    return tuple(template for template in templates if template.template_id not in reserved)


def lost(templates: Iterable[Template], sources: Sources) -> Lost:
    """What the policy costs these templates. `sources` hide the reserved rows."""
    attempts = 0
    refs: set[str] = set()
    for template in templates:
        for draw in draws(template):
            resolved = sources.resolve(*draw)
            attempts += len(resolved.candidates) + len(resolved.blocked)
            refs.update(resolved.blocked)
    return Lost(attempts, frozenset(refs))


def emptied_categories(templates: Sequence[Template], held_out: HeldOut) -> Iterator[Problem]:
    """`held_out_binding_starved` for each category whose templates are all reserved, or once where all are."""
    members = _by_category(templates)
    emptied = {name: each for name, each in members.items() if not bindable_templates(each, held_out)}
    if emptied and len(emptied) == len(members):
        message = f"every template is reserved: {causes(map(_cause, templates))}; expected one to bind"
        yield _starved(held_out, "templates", message, _KEEP_ONE)
        return
    for category, each in emptied.items():
        message = f"category `{category}` keeps no template; reserved: {causes(map(_cause, each))}"
        yield _starved(held_out, "templates", message, _KEEP_ONE)


def short_categories(
    templates: Sequence[Template], held_out: HeldOut, sources: Sources, bound: Mapping[str, int], wanted: int
) -> Iterator[Problem]:
    """`held_out_binding_starved` for each category that binds some, but fewer than `wanted`, and lost a candidate.

    `bound` holds the number of tasks of each category to look at.
    """
    for category, each in _by_category(templates).items():
        count = bound.get(category, wanted)
        if count >= wanted:
            continue
        free = bindable_templates(each, held_out)
        left = {template.template_id for template in free}
        reserved = [_cause(template) for template in each if template.template_id not in left]
        found = [*reserved, *(f"fixture:{ref}" for ref in sorted(lost(free, sources).refs))]
        if free and found:
            message = f"category `{category}` binds {count} of {wanted} tasks, with reserved: {causes(found)}"
            yield _starved(held_out, "templates" if reserved else "fixtures", message, _FIX)


def held_out_bindings(
    held_out: HeldOut, templates: Sequence[Template], sources: Sources, tasks_expanded: int
) -> dict[str, Json]:
    """The document `held_out_bindings.json`: what stage 4 did about the policy. `templates` are those of the pack."""
    gone = lost(bindable_templates(templates, held_out), sources)
    return {
        "contract_version": CONTRACT_VERSION,
        "policy": policy_summary(held_out),
        "blocked_templates": list(held_out.templates),
        "blocked_fixture_refs": sorted(gone.refs),
        "counts": {
            "bind_attempts": gone.attempts,
            "templates_blocked": len(held_out.templates),
            "fixture_refs_blocked": len(gone.refs),
            "tasks_expanded": tasks_expanded,
        },
    }


def _by_category(templates: Iterable[Template]) -> dict[str, list[Template]]:
    found: dict[str, list[Template]] = {}
    for template in templates:
        found.setdefault(template.category, []).append(template)
    return found


def _cause(template: Template) -> str:
    return f"template:{template.template_id}"


def _starved(held_out: HeldOut, field: str, message: str, fix: str) -> Problem:
    subject = held_out.source.removeprefix("tree/")
    return Problem(code=STARVED, subject=subject, field=field, message=message, fix=fix)
