"""Which values does a source offer, and what is wrong where it offers none? Rule: generation.md §3.1, pack.md §4-§5.

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
from bfcl.records.tool import Tool
from bfcl.stages.candidates import Candidates
from bfcl.stages.pool import LastPool
from bfcl.stages.row_links import Draw

Rows: TypeAlias = Sequence[Mapping[str, Json]]

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
        self._resolved: dict[Draw, Resolved] = {}
        self._keyed: dict[str, tuple[list[str], tuple[Problem, ...]]] = {}
        self.last_pool = LastPool()
        """What expansion built last from these sources."""

    def resolve(self, source: str, filter_text: str | None, fields: tuple[str, ...] = ()) -> Resolved:
        """The candidates of a source under a filter, and every problem that keeps it from offering any.

        `fields` are other fields that a row has to offer too: the candidates' `linked` values. Of fixtures only.
        """
        key = Draw(source, filter_text, fields)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._resolve(key)
        return found

    def _resolve(self, draw: Draw) -> Resolved:
        source, filter_text, fields = draw
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
                resolved = self._fixture(parsed, filter_text, fields)
            case "enum":
                resolved = self._enum(parsed)
            case "absent":
                resolved = self._absent(parsed)
            case "range":
                resolved = Resolved(Candidates(parsed.integers()), ())
            case "literal":
                resolved = Resolved(Candidates(parsed.values), ())
        return resolved._replace(problems=(*problems, *resolved.problems))

    def _fixture(self, source: SlotSource, filter_text: str | None, fields: tuple[str, ...]) -> Resolved:
        collection, field = source.collection or "", source.field or ""
        wanted = dict.fromkeys((field, *fields))
        rows = collection_rows(self._fixtures, collection)
        if rows is None:
            known = [name for name in self._fixtures if collection_rows(self._fixtures, name) is not None]
            message = f"draws from collection `{collection}`, which fixtures.json does not have as a list of rows"
            return _refused(_bare("unknown_collection", message, did_you_mean(collection, known)))
        problems = [_unknown_field(collection, rows, name) for name in wanted if rows and not _offered(rows, name)]
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
        kept = [index for index in kept if all(rows[index].get(name) is not None for name in wanted)]
        nested = [(index, name) for index in kept for name in wanted if not _is_scalar(rows[index][name])]
        if nested:
            message = f"field `{nested[0][1]}` of row {nested[0][0]} of `{collection}` is no text, number or boolean"
            return _refused(_bare("slot_value_not_scalar", message, "draw another field, or flatten this one"))
        offer = _offer(wanted, filter_text)
        if not kept:
            return _refused(
                _bare(
                    "filter_matches_zero", f"no row of `{collection}` offers a value of {offer}; expected at least one"
                )
            )
        free = [index for index in kept if ids[index] not in self._reserved]
        blocked = tuple(ids[index] for index in kept if ids[index] in self._reserved)
        if not free:
            return _all_reserved(collection, offer, blocked)
        columns = {name: [rows[index][name] for index in free] for name in wanted}
        linked = {name: columns[name] for name in fields}
        return Resolved(Candidates(columns[field], [ids[index] for index in free], linked), (), blocked)

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


def causes(found: Iterable[str]) -> str:
    """`template:...` and `fixture:...` as messages list them; a long list is cut."""
    waiting = iter(found)
    shown = list(islice(waiting, _SHOWN_CAUSES))
    more = sum(1 for _ in waiting)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _reference(collection: str, value: Json) -> str:
    if not isinstance(value, str | int):
        raise AssertionError("a primary key that is neither text nor integer")
    return fixture_ref(collection, value)


def _offered(rows: Rows, field: str) -> bool:
    return any(field in row for row in rows)


def _unknown_field(collection: str, rows: Rows, field: str) -> Problem:
    message = f"draws field `{field}`, which no row of `{collection}` has"
    return _bare("unknown_field", message, did_you_mean(field, {name for row in rows for name in row}))


def _offer(fields: Iterable[str], filter_text: str | None) -> str:
    """What a row is looked at for, in words."""
    *others, last = [f"`{field}`" for field in fields]
    under = f" under filter `{filter_text}`" if filter_text is not None else ""
    return (f"{', '.join(others)} and {last} together" if others else last) + under


def _all_reserved(collection: str, offer: str, blocked: tuple[str, ...]) -> Resolved:
    listed = causes(f"fixture:{ref}" for ref in blocked)
    message = f"every row of `{collection}` that offers {offer} is reserved: {listed}"
    fix = f"release one of them, or add a row to `{collection}` that matches"
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
