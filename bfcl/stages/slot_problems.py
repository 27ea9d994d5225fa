"""What keeps a template's slots and corrections from binding? Rule: pack.md §5.1, §5.6, §15.

Check 2 and expansion ask the same function, so what was checked is what binds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.slots import parse_source
from bfcl.records.template import Slot, SlotUpdate, Template
from bfcl.stages.bindings import Sources, causes
from bfcl.stages.candidates import Candidates
from bfcl.stages.row_links import RowLinks, draws, fixture_source, row_links

RESERVED_NAME = "slot_name"
"""Surfaces use `{slot_name}` for the label of the asked slot."""


def slot_problems(template: Template, sources: Sources) -> list[Problem]:
    """Everything that keeps a template's slots and corrections from binding: the part check 2 reports.

    Fields are dotted paths inside the template: `slots.<name>.source`, `user_simulator_turns.<i>.slot_updates.<name>`.
    """
    problems: list[Problem] = []
    links = row_links(template)
    for name, slot in template.slots.items():
        problems += _one_slot_problems(template, name, slot, sources)
    problems += links.problems
    problems += _row_problems(template, links, sources)
    invalid = list(_declaration_problems(template, links))
    for entry, turn in enumerate(template.user_simulator_turns):
        for update in turn.slot_updates:
            field = f"user_simulator_turns.{entry}.slot_updates.{update.slot}"
            problems += _placed(template, field, f"correction of slot `{update.slot}`", update, sources)
            problems += _corrected_row_problems(template, field, update, sources)
    problems += invalid
    if not problems and has_corrections(template) and not _can_change(template, links, sources):
        blocked = sorted({ref for draw in draws(template) for ref in sources.resolve(*draw).blocked})
        reserved = f" (reserved: {causes(f'fixture:{ref}' for ref in blocked)})" if blocked else ""
        message = f"every correction repeats the value in force{reserved}; expected one that differs"
        problems.append(_invalid(template, "user_simulator_turns", message))
    return problems


def has_corrections(template: Template) -> bool:
    """Does any simulator turn change a slot."""
    return any(turn.slot_updates for turn in template.user_simulator_turns)


def _one_slot_problems(template: Template, name: str, slot: Slot, sources: Sources) -> Iterator[Problem]:
    if name == RESERVED_NAME:
        message = "`slot_name` stands for the label of the asked slot in texts; expected another name"
        yield _at(template, f"slots.{name}", _bare("reserved_slot_name", message, "rename the slot"))
    if slot.visible_in_first_turn is None:
        message = f"slot `{name}` does not say whether its value occurs in the first user turn"
        fix = "add `visible_in_first_turn: true` or `false`"
        yield _at(template, f"slots.{name}", _bare("slot_missing_visibility_flag", message, fix))
    if slot.same_row_as is None or fixture_source(slot.source) is None:
        yield from _placed(template, f"slots.{name}", f"slot `{name}`", slot, sources)
        return
    # Which rows a follower meets is its leader's matter: alone, only the names in its source can be wrong.
    for problem in sources.resolve(slot.source, None).problems:
        if problem.code in ("unknown_collection", "unknown_field"):
            yield _told(template, f"slots.{name}.source", f"slot `{name}`", problem)


def _row_problems(template: Template, links: RowLinks, sources: Sources) -> Iterator[Problem]:
    """What keeps a leader's rows from giving what else is taken from them, where they give its own value."""
    for leader in links.linked:
        slot = template.slots[leader]
        if sources.resolve(slot.source, slot.filter).problems:
            continue
        found = 0
        for one in links.of(leader):
            for problem in sources.resolve(slot.source, slot.filter, (one.field,)).problems:
                found += 1
                if problem.code != "unknown_field" or one.name not in template.slots:
                    yield _told(template, one.place, one.what, problem)
        if not found:
            for problem in sources.resolve(*links.draw(leader, slot)).problems:
                yield _told(template, f"slots.{leader}", f"slot `{leader}`", problem)


def _corrected_row_problems(template: Template, field: str, update: SlotUpdate, sources: Sources) -> Iterator[Problem]:
    """The same of the rows that a correction draws from the leader's collection."""
    slot, drawn = template.slots.get(update.slot), fixture_source(update.source)
    row = None if slot is None else fixture_source(slot.source)
    if drawn is None or row is None or drawn.collection != row.collection:
        return
    if not sources.resolve(update.source, update.filter).problems:
        for problem in sources.resolve(*row_links(template).draw(update.slot, update)).problems:
            if problem.code != "unknown_field":  # told of the leader already
                yield _told(template, field, f"correction of slot `{update.slot}`", problem)


def _placed(template: Template, field: str, what: str, drawn: Slot | SlotUpdate, sources: Sources) -> Iterator[Problem]:
    for problem in sources.resolve(drawn.source, drawn.filter).problems:
        key = "filter" if "filter" in problem.code and drawn.filter is not None else "source"
        yield _told(template, f"{field}.{key}", what, problem)


def _declaration_problems(template: Template, links: RowLinks) -> Iterator[Problem]:
    """Breaches of the correction rules that need no candidates. Rule: pack.md §5.6."""
    corrects = has_corrections(template)
    if template.turn_policy == "correction" and not corrects:
        message = "policy `correction`, but no simulator turn has `slot_updates`; expected at least one"
        yield _invalid(template, "user_simulator_turns", message)
    for entry, turn in enumerate(template.user_simulator_turns):
        aliases: set[str] = set()
        for update in turn.slot_updates:
            field = f"user_simulator_turns.{entry}.slot_updates.{update.slot}"
            if template.turn_policy != "correction":
                message = f"corrects slot `{update.slot}` under policy `{template.turn_policy}`; expected `correction`"
                yield _invalid(template, field, message)
            yield from _target_problems(template, field, update, links)
            if update.bind_as is not None:
                if update.bind_as in {*template.slots, *aliases, RESERVED_NAME}:
                    message = f"alias `{update.bind_as}` is taken or reserved; expected a name of its own"
                    yield _invalid(template, f"{field}.bind_as", message)
                aliases.add(update.bind_as)


def _target_problems(template: Template, field: str, update: SlotUpdate, links: RowLinks) -> Iterator[Problem]:
    slot = template.slots.get(update.slot)
    if slot is None:
        message = f"corrects `{update.slot}`, which is no slot of the template"
        yield _invalid(template, field, message, did_you_mean(update.slot, template.slots))
        return
    if slot.same_row_as is not None:
        message = f"corrects slot `{update.slot}`, which takes its row from `{slot.same_row_as}`"
        yield _invalid(template, field, message, f"correct `{slot.same_row_as}`: what follows it moves with it")
        return
    if slot.visible_in_first_turn is False:
        message = f"corrects slot `{update.slot}`, which the first turn withholds; expected a visible slot"
        yield _invalid(template, field, message)
    was, now = _kind(slot.source), _kind(update.source)
    if was is not None and now is not None and was != now:
        message = f"replaces slot `{update.slot}` of kind `{was}` by one of kind `{now}`; expected the same kind"
        yield _invalid(template, f"{field}.source", message)
    row, drawn = fixture_source(slot.source), fixture_source(update.source)
    if links.of(slot.name) and row is not None and drawn is not None and row.collection != drawn.collection:
        taken = " and ".join(one.what for one in links.of(slot.name))
        message = f"replaces slot `{update.slot}` by one of `{drawn.collection}`; expected one of `{row.collection}`"
        yield _invalid(template, f"{field}.source", f"{message}, whose row also gives {taken}")


def _kind(source: str) -> str | None:
    try:
        return parse_source(source).kind
    except BfclError:
        return None  # told by the source's own problem


def _can_change(template: Template, links: RowLinks, sources: Sources) -> bool:
    """Does any corrected slot have two different values among its own and its replacements'."""
    offered: dict[str, list[Candidates]] = {}
    for turn in template.user_simulator_turns:
        for update in turn.slot_updates:
            slot = template.slots[update.slot]
            offered.setdefault(update.slot, [sources.resolve(*links.draw(update.slot, slot)).candidates])
            offered[update.slot].append(sources.resolve(*links.draw(update.slot, update)).candidates)
    return any(
        any(each.distinct > 1 for each in several) or len({each.text(0) for each in several}) > 1
        for several in offered.values()
    )


def _told(template: Template, field: str, what: str, problem: Problem) -> Problem:
    return _at(template, field, dataclasses.replace(problem, message=f"{what}: {problem.message}"))


def _at(template: Template, field: str, problem: Problem) -> Problem:
    return dataclasses.replace(problem, subject=template.template_id, field=field, path=None, line=None, column=None)


def _bare(code: str, message: str, fix: str | None = None) -> Problem:
    return Problem(code=code, message=message, fix=fix)


def _invalid(template: Template, field: str, message: str, fix: str | None = None) -> Problem:
    return _at(template, field, _bare("slot_correction_declaration_invalid", message, fix))
