"""Which probes does a tool need, with arguments of this pack? Rule: pack.md §10."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.authoring.imports.decisions import distinct_name
from bfcl.authoring.stubs.binding import Binding, bindings
from bfcl.authoring.stubs.named import named_tool
from bfcl.canonical import Json
from bfcl.pack.fixtures import collection_rows
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool

Entry = dict[str, Json]


def new_cases(pack: Pack, name: str) -> list[Entry]:
    """A success, what is pending unless confirmed, an unknown id and a wrong type: as far as the tool has them.

    Ids are new in the pack. Error codes are left out: `bfcl call --record` fills in what the oracle really answers.
    Raises: ConfigError `stub_impossible` for a tool that is not in the catalog.
    """
    tool = named_tool(pack, name, of="case")
    bound = bindings(pack, tool)
    good = _good(pack, tool, bound)
    drafts = [(f"{name}_success", _confirmed(pack, tool, good), _success())]
    if tool.requires_confirmation:
        drafts.append((f"{name}_pending", _confirmed(pack, tool, good, value=False), _pending()))
    drafts += [(f"{name}_{what}", arguments, _refused()) for what, arguments in _bad(pack, tool, bound, good)]
    taken = {case.id for case in pack.cases}
    entries: list[Entry] = []
    for wanted, arguments, expect in drafts:
        id_ = distinct_name(wanted, taken)
        taken.add(id_)
        entries.append({"id": id_, "tool": name, "arguments": arguments, "expect": expect})
    return entries


def _good(pack: Pack, tool: Tool, bound: Sequence[Binding]) -> Entry:
    """Arguments of the first row, and for a tool that changes things one that is not what the row holds already."""
    good: Entry = {one.parameter: one.examples[0] if one.examples else one.literal for one in bound}
    keyed = next((one for one in bound if one.collection is not None), None)
    if not tool.mutates or keyed is None or keyed.collection is None:
        return good
    rows = collection_rows(pack.fixtures, keyed.collection) or ()
    for row in rows:
        # What ends in `_id` links the row to another: it names whom the call is for, not what it changes.
        same = [one for one in bound if one.parameter in row and not one.parameter.endswith("_id") and one is not keyed]
        choices = {one.parameter: _other(one, row[one.parameter]) for one in same}
        changing = [one.parameter for one in same if choices[one.parameter] is not None]
        if changing:
            return {**good, keyed.parameter: row[keyed.parameter], changing[0]: choices[changing[0]]}
    return good


def _other(one: Binding, held: Json) -> Json:
    """The first value of the parameter that is not what the row holds; None where no other is known."""
    known = (*one.examples, False) if one.examples == (True,) else one.examples
    return next((value for value in known if value != held), None)


def _confirmed(pack: Pack, tool: Tool, arguments: Entry, *, value: bool = True) -> Entry:
    if not tool.requires_confirmation:
        return arguments
    return {**arguments, pack.manifest.confirmation.parameter: value}


def _bad(pack: Pack, tool: Tool, bound: Sequence[Binding], good: Entry) -> list[tuple[str, Entry]]:
    found = []
    for one in bound:
        absent = pack.manifest.absent_ids.get(one.collection or "", ())
        if absent:
            found.append(("unknown", _confirmed(pack, tool, {**good, one.parameter: absent[0]})))
            break
    for one in bound:
        wrong: Json = 7 if one.examples and isinstance(one.examples[0], str) else "seven"
        found.append(("wrong_type", _confirmed(pack, tool, {**good, one.parameter: wrong})))
        break
    return found


def _success() -> Entry:
    return {"result_class": "success"}


def _pending() -> Entry:
    return {"result_class": "awaiting_confirmation", "state_unchanged": True}


def _refused() -> Entry:
    return {"result_class": "structured_error", "state_unchanged": True}
