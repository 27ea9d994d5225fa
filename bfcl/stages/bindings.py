"""Which values may each slot take, and what is wrong where it can take none? Rule: generation.md §3.1, pack.md §4-§5.

Check 2 and expansion ask the same functions, so what was checked is what binds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.errors import BfclError, Problem, did_you_mean
from bfcl.pack.filters import parse_filter
from bfcl.pack.fixtures import absent_id_problems, collection_rows, primary_key
from bfcl.pack.held_out import fixture_ref, reserved_refs
from bfcl.pack.json_pointer import pointer_parts
from bfcl.pack.model import Manifest, Pack
from bfcl.pack.slots import SlotSource, parse_source
from bfcl.records.template import Slot, SlotUpdate, Template
from bfcl.records.tool import Tool
from bfcl.stages.candidates import Candidates
from bfcl.stages.pool import LastPool

Rows: TypeAlias = Sequence[Mapping[str, Json]]

RESERVED_NAME = "slot_name"
"""Surfaces use `{slot_name}` for the label of the asked slot."""

STARVED: Final = "held_out_binding_starved"
_SHOWN_CAUSES: Final = 20


class Resolved(NamedTuple):
    """What a source offers, or why it offers nothing. Problems carry no field yet."""

    candidates: Candidates
    problems: tuple[Problem, ...]
    blocked: tuple[str, ...] = ()
    """References of matching rows that are reserved and so no candidates, in file order."""


_NOTHING = Candidates(())


class Sources:
    """Everything slots can draw from: catalog, fixtures, absent ids. Built once a run; answers are kept.

    Rows whose reference is in `reserved` are removed while candidates are collected.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        fixtures: Mapping[str, Json],
        manifest: Manifest,
        reserved: frozenset[str] = frozenset(),
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._fixtures = fixtures
        self._manifest = manifest
        self._reserved = reserved
        self._resolved: dict[tuple[str, str | None], Resolved] = {}
        self._keyed: dict[str, tuple[list[str], tuple[Problem, ...]]] = {}
        self.last_pool = LastPool()
        """What expansion built last from these sources."""

    def resolve(self, source: str, filter_text: str | None) -> Resolved:
        """The candidates of a source under a filter, and every problem that keeps it from offering any."""
        key = (source, filter_text)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._resolve(source, filter_text)
        return found

    def _resolve(self, source: str, filter_text: str | None) -> Resolved:
        problems: list[Problem] = []
        try:
            parsed = parse_source(source)
        except BfclError as error:
            return Resolved(_NOTHING, error.problems)
        if filter_text is not None and parsed.kind != "fixture":
            message = f"has a filter, but its source is of kind `{parsed.kind}`; expected a filter on `fixture` only"
            problems.append(_bare("filter_on_non_fixture_source", message, "remove the filter"))
        match parsed.kind:
            case "fixture":
                resolved = self._fixture(parsed, filter_text)
            case "enum":
                resolved = self._enum(parsed)
            case "absent":
                resolved = self._absent(parsed)
            case "range":
                resolved = Resolved(Candidates(parsed.integers()), ())
            case "literal":
                resolved = Resolved(Candidates(parsed.values), ())
        return resolved._replace(problems=(*problems, *resolved.problems))

    def _fixture(self, source: SlotSource, filter_text: str | None) -> Resolved:
        collection, field = source.collection or "", source.field or ""
        rows = collection_rows(self._fixtures, collection)
        if rows is None:
            known = [name for name in self._fixtures if collection_rows(self._fixtures, name) is not None]
            message = f"draws from collection `{collection}`, which fixtures.json does not have as a list of rows"
            return _refused(_bare("unknown_collection", message, did_you_mean(collection, known)))
        problems = []
        if rows and not any(field in row for row in rows):
            fields = {name for row in rows for name in row}
            message = f"draws field `{field}`, which no row of `{collection}` has"
            problems.append(_bare("unknown_field", message, did_you_mean(field, fields)))
        ids, key_problems = self._ids(collection, rows)
        problems += key_problems
        kept = list(range(len(rows)))
        if filter_text is not None:
            try:
                matches = parse_filter(filter_text).matches
            except BfclError as error:
                return _refused(*problems, *error.problems)
            kept = [index for index in kept if matches(rows[index])]
        if problems:
            return _refused(*problems)
        kept = [index for index in kept if rows[index].get(field) is not None]
        nested = [index for index in kept if not _is_scalar(rows[index][field])]
        if nested:
            message = f"field `{field}` of row {nested[0]} of `{collection}` is no text, number or boolean"
            return _refused(_bare("slot_value_not_scalar", message, "draw another field, or flatten this one"))
        if not kept:
            under = f" under filter `{filter_text}`" if filter_text is not None else ""
            message = f"no row of `{collection}` offers a value of `{field}`{under}; expected at least one"
            return _refused(_bare("filter_matches_zero", message))
        free = [index for index in kept if ids[index] not in self._reserved]
        blocked = tuple(ids[index] for index in kept if ids[index] in self._reserved)
        if not free:
            return _all_reserved(source, filter_text, blocked)
        return Resolved(Candidates([rows[index][field] for index in free], [ids[index] for index in free]), (), blocked)

    def _ids(self, collection: str, rows: Rows) -> tuple[list[str], tuple[Problem, ...]]:
        """Each row's fixture reference, or why the rows have no primary key."""
        found = self._keyed.get(collection)
        if found is None:
            try:
                key = primary_key(collection, rows, self._manifest) if rows else ""
                found = [_reference(collection, row[key]) for row in rows], ()
            except BfclError as error:
                found = [], _summed(error.problems)
            self._keyed[collection] = found
        return found

    def _enum(self, source: SlotSource) -> Resolved:
        name, parameter = source.tool or "", source.parameter or ""
        tool = self._tools.get(name)
        if tool is None:
            message = f"draws from tool `{name}`, which tools.json does not have"
            return _refused(_bare("unknown_tool", message, did_you_mean(name, self._tools)))
        values = [value for value in enum_values(tool, parameter) if value is not None]
        if not all(_is_scalar(value) for value in values):
            message = f"the enum of `{name}.{parameter}` holds an object or array; expected text, numbers or booleans"
            return _refused(_bare("slot_value_not_scalar", message))
        if not values:
            message = f"parameter `{parameter}` of tool `{name}` declares no enum to draw from"
            return _refused(_bare("enum_source_unresolved", message))
        return Resolved(Candidates(values), ())

    def _absent(self, source: SlotSource) -> Resolved:
        collection = source.collection or ""
        values = self._manifest.absent_ids.get(collection, ())
        if not values:
            message = f"draws absent ids of `{collection}`, but the manifest declares none"
            fix = did_you_mean(collection, self._manifest.absent_ids) or f"declare `absent_ids.{collection}`"
            return _refused(_bare("absent_ids_missing", message, fix))
        rows = collection_rows(self._fixtures, collection)
        if not rows:
            return Resolved(Candidates(values), ())
        try:
            key = primary_key(collection, rows, self._manifest)
        except BfclError as error:
            return Resolved(Candidates(values), _summed(error.problems))
        return Resolved(Candidates(values), tuple(absent_id_problems(collection, rows, key, self._manifest)))


def sources_of(pack: Pack) -> Sources:
    """What generation may bind: everything but the rows that the pack's held-out policy reserves."""
    return Sources(pack.tools, pack.fixtures, pack.manifest, reserved_refs(pack.held_out))


def sources_of_reserved(pack: Pack) -> Sources:
    """What a reserved template is compiled with: reserved rows too, where the oracle has them. Rule: pack.md §11."""
    if pack.held_out is not None and not pack.held_out.fixtures_in_backend_state:
        return sources_of(pack)
    return Sources(pack.tools, pack.fixtures, pack.manifest)


def enum_values(tool: Tool, parameter: str) -> list[Json]:
    """The values a parameter's enum allows, through local `$ref` and `allOf`; empty where it declares none.

    Several enums on one parameter all bind: the values of the first that every other one holds too.
    """
    root: Json = tool.parameters or {}
    declared: list[Json] = []
    for schema in _parts(root, root, 0):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and parameter in properties:
            declared.append(properties[parameter])
    enums = [
        list(values)
        for schema in declared
        for part in _parts(root, schema, 0)
        if isinstance(values := part.get("enum"), list | tuple)
    ]
    if not enums:
        return []
    others = [{canonical_text(value) for value in values} for values in enums[1:]]
    return [value for value in enums[0] if all(canonical_text(value) in other for other in others)]


def _parts(root: Json, schema: Json, depth: int) -> Iterator[Mapping[str, Json]]:
    """A schema and everything that applies with it. Cycles end at a depth no honest schema has."""
    if not isinstance(schema, Mapping) or depth > 32:
        return
    yield schema
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        target: Json = root
        for name in pointer_parts(reference):
            target = target.get(name) if isinstance(target, Mapping) else None
        yield from _parts(root, target, depth + 1)
    members = schema.get("allOf")
    if isinstance(members, list | tuple):
        for member in members:
            yield from _parts(root, member, depth + 1)


# --- a template's slots and corrections -----------------------------------------------------------------------------


def slot_problems(template: Template, sources: Sources) -> list[Problem]:
    """Everything that keeps a template's slots and corrections from binding: the part check 2 reports.

    Fields are dotted paths inside the template: `slots.<name>.source`, `user_simulator_turns.<i>.slot_updates.<name>`.
    """
    problems: list[Problem] = []
    for name, slot in template.slots.items():
        problems += _one_slot_problems(template, name, slot, sources)
    invalid = list(_declaration_problems(template))
    for entry, turn in enumerate(template.user_simulator_turns):
        for update in turn.slot_updates:
            field = f"user_simulator_turns.{entry}.slot_updates.{update.slot}"
            problems += _placed(template, field, f"correction of slot `{update.slot}`", update, sources)
    problems += invalid
    if not problems and has_corrections(template) and not _can_change(template, sources):
        blocked = sorted({ref for drawn in drawn_sources(template) for ref in sources.resolve(*drawn).blocked})
        reserved = f" (reserved: {causes(f'fixture:{ref}' for ref in blocked)})" if blocked else ""
        message = f"every correction repeats the value in force{reserved}; expected one that differs"
        problems.append(_invalid(template, "user_simulator_turns", message))
    return problems


def drawn_sources(template: Template) -> Iterator[tuple[str, str | None]]:
    """Source and filter of every slot, then of every correction."""
    for slot in template.slots.values():
        yield slot.source, slot.filter
    for turn in template.user_simulator_turns:
        for update in turn.slot_updates:
            yield update.source, update.filter


def causes(found: Iterable[str]) -> str:
    """`template:...` and `fixture:...` as messages list them; a long list is cut."""
    waiting = iter(found)
    shown = list(islice(waiting, _SHOWN_CAUSES))
    more = sum(1 for _ in waiting)
    return ", ".join(shown) + (f" and {more} more" if more else "")


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
    yield from _placed(template, f"slots.{name}", f"slot `{name}`", slot, sources)


def _placed(template: Template, field: str, what: str, drawn: Slot | SlotUpdate, sources: Sources) -> Iterator[Problem]:
    for problem in sources.resolve(drawn.source, drawn.filter).problems:
        key = "filter" if "filter" in problem.code and drawn.filter is not None else "source"
        told = dataclasses.replace(problem, message=f"{what}: {problem.message}")
        yield _at(template, f"{field}.{key}", told)


def _declaration_problems(template: Template) -> Iterator[Problem]:
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
            yield from _target_problems(template, field, update)
            if update.bind_as is not None:
                if update.bind_as in {*template.slots, *aliases, RESERVED_NAME}:
                    message = f"alias `{update.bind_as}` is taken or reserved; expected a name of its own"
                    yield _invalid(template, f"{field}.bind_as", message)
                aliases.add(update.bind_as)


def _target_problems(template: Template, field: str, update: SlotUpdate) -> Iterator[Problem]:
    slot = template.slots.get(update.slot)
    if slot is None:
        message = f"corrects `{update.slot}`, which is no slot of the template"
        yield _invalid(template, field, message, did_you_mean(update.slot, template.slots))
        return
    if slot.visible_in_first_turn is False:
        message = f"corrects slot `{update.slot}`, which the first turn withholds; expected a visible slot"
        yield _invalid(template, field, message)
    was, now = _kind(slot.source), _kind(update.source)
    if was is not None and now is not None and was != now:
        message = f"replaces slot `{update.slot}` of kind `{was}` by one of kind `{now}`; expected the same kind"
        yield _invalid(template, f"{field}.source", message)


def _kind(source: str) -> str | None:
    try:
        return parse_source(source).kind
    except BfclError:
        return None  # told by the source's own problem


def _can_change(template: Template, sources: Sources) -> bool:
    """Does any corrected slot have two different values among its own and its replacements'."""
    offered: dict[str, list[Candidates]] = {}
    for turn in template.user_simulator_turns:
        for update in turn.slot_updates:
            slot = template.slots[update.slot]
            offered.setdefault(update.slot, [sources.resolve(slot.source, slot.filter).candidates])
            offered[update.slot].append(sources.resolve(update.source, update.filter).candidates)
    return any(
        any(each.distinct > 1 for each in several) or len({each.text(0) for each in several}) > 1
        for several in offered.values()
    )


def _reference(collection: str, value: Json) -> str:
    if not isinstance(value, str | int):
        raise AssertionError("a primary key that is neither text nor integer")
    return fixture_ref(collection, value)


def _all_reserved(source: SlotSource, filter_text: str | None, blocked: tuple[str, ...]) -> Resolved:
    under = f" under filter `{filter_text}`" if filter_text is not None else ""
    listed = causes(f"fixture:{ref}" for ref in blocked)
    message = f"every row of `{source.collection}` that offers `{source.field}`{under} is reserved: {listed}"
    fix = f"release one of them, or add a row to `{source.collection}` that matches"
    return Resolved(_NOTHING, (_bare(STARVED, message, fix),), blocked)


def _is_scalar(value: Json) -> bool:
    return isinstance(value, str | int | float)


def _summed(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The first fault of a collection's keys, counting the others: each slot that draws from it tells them again."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return (dataclasses.replace(problems[0], message=problems[0].message + more),)


def _bare(code: str, message: str, fix: str | None = None) -> Problem:
    return Problem(code=code, message=message, fix=fix)


def _refused(*problems: Problem) -> Resolved:
    return Resolved(_NOTHING, problems)


def _at(template: Template, field: str, problem: Problem) -> Problem:
    return dataclasses.replace(problem, subject=template.template_id, field=field, path=None, line=None, column=None)


def _invalid(template: Template, field: str, message: str, fix: str | None = None) -> Problem:
    return _at(template, field, _bare("slot_correction_declaration_invalid", message, fix))
