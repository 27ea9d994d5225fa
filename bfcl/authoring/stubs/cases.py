"""Which probes does a tool need, with arguments of this pack? Rule: pack.md §10."""

from __future__ import annotations

from collections.abc import Sequence

from bfcl.authoring.stubs.binding import Binding, bindings
from bfcl.canonical import Json
from bfcl.errors import ConfigError, Problem, did_you_mean
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool

Entry = dict[str, Json]


def new_cases(pack: Pack, name: str) -> list[Entry]:
    """A success, what is pending unless confirmed, an unknown id and a wrong type: as far as the tool has them.

    Ids are new in the pack. Error codes are left out: `bfcl call --record` fills in what the oracle really answers.
    Raises: ConfigError `stub_impossible` for a tool that is not in the catalog.
    """
    tool = pack.tool(name)
    if tool is None:
        names = [one.name for one in pack.tools]
        fix = did_you_mean(name, names) or f"use one of {', '.join(names)}"
        message = f"the catalog has no tool `{name}`"
        raise ConfigError(Problem(code="stub_impossible", subject="case", message=message, fix=fix))
    bound = bindings(pack, tool)
    good: Entry = {one.parameter: one.examples[0] if one.examples else one.literal for one in bound}
    drafts = [(f"{name}_success", _confirmed(pack, tool, good), _success())]
    if tool.requires_confirmation:
        drafts.append((f"{name}_pending", _confirmed(pack, tool, good, value=False), _pending()))
    drafts += [(f"{name}_{what}", arguments, _refused()) for what, arguments in _bad(pack, tool, bound, good)]
    taken = {case.id for case in pack.cases}
    return [
        {"id": _free(id_, taken), "tool": name, "arguments": arguments, "expect": expect}
        for id_, arguments, expect in drafts
    ]


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


def _free(id_: str, taken: set[str]) -> str:
    name, number = id_, 2
    while name in taken:
        name, number = f"{id_}_{number}", number + 1
    taken.add(name)
    return name
