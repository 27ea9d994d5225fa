"""Which imported tools change state, which ask for consent, and how does an entry of the catalog say so?"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import ConfigError, Problem, did_you_mean, raise_all

MAX_NAME: Final = 64
_UNPORTABLE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What the command line says about tools, each named as the source or the new catalog names it."""

    only: tuple[str, ...] = ()
    """Tools to import; empty takes all."""
    mutates: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    confirm: tuple[str, ...] = ()
    confirmation_parameter: str = "confirm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decisions by tool name."""

    only: frozenset[str]
    mutates: frozenset[str]
    read_only: frozenset[str]
    confirm: frozenset[str]


def portable_name(raw: str) -> str:
    """A tool name within `[A-Za-z0-9_-]{1,64}` made of any text."""
    return _UNPORTABLE.sub("_", raw).strip("_")[:MAX_NAME] or "operation"


def distinct_name(name: str, taken: Collection[str]) -> str:
    """`name`, or the first of `name_2`, `name_3`, ... that is free."""
    if name not in taken:
        return name
    number = 2
    while (found := f"{name[: MAX_NAME - 1 - len(str(number))]}_{number}") in taken:
        number += 1
    return found


def decide(decisions: Decisions, aliases: Mapping[str, Sequence[str]], kind: str) -> Decided:
    """Resolve the names on the command line. `aliases`: tool name to further names of the same thing.

    A tool name wins over an alias; an alias that several tools share names all of them.
    Raises: ConfigError `unknown_operation` for a name nothing has, `import_decision_conflict` for a tool declared both
    ways, with every such name.
    """
    problems: list[Problem] = []

    def resolve(names: Iterable[str], option: str) -> frozenset[str]:
        found: set[str] = set()
        for name in names:
            hits = {name} if name in aliases else {tool for tool, others in aliases.items() if name in others}
            if not hits:
                known = [*aliases, *(other for others in aliases.values() for other in others)]
                problems.append(
                    Problem(
                        code="unknown_operation",
                        subject=option,
                        message=f"the source has no {kind} {name!r}",
                        fix=did_you_mean(name, known) or f"name one of: {', '.join(sorted(aliases)) or '(none)'}",
                    )
                )
            found |= hits
        return frozenset(found)

    selection = "--functions" if kind == "function" else "--operations"
    only = resolve(decisions.only, selection) if decisions.only else frozenset(aliases)
    decided = Decided(
        only=only,
        mutates=resolve(decisions.mutates, "--mutates"),
        read_only=resolve(decisions.read_only, "--read-only"),
        confirm=resolve(decisions.confirm, "--confirm"),
    )
    problems += [
        Problem(
            code="import_decision_conflict",
            subject=name,
            message="declared with --mutates and with --read-only",
            fix="name it under one of them",
        )
        for name in sorted(decided.mutates & decided.read_only)
    ]
    raise_all(ConfigError, problems)
    return decided


def with_confirmation(parameters: Mapping[str, Json], name: str) -> dict[str, Json] | None:
    """The parameters with a boolean `name`, false by default; None where a parameter of another type has that name."""
    properties = parameters.get("properties")
    known: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    taken = known.get(name)
    if isinstance(taken, Mapping):
        return dict(parameters) if taken.get("type") == "boolean" else None
    consent: Json = {"type": "boolean", "default": False, "description": "True once the user has agreed to it."}
    return {**parameters, "properties": {**known, name: consent}}


def entry(name: str, description: str, parameters: Mapping[str, Json], decided: Decided) -> Json:
    """One entry of `tools.json`, keys in the order people write them."""
    words: dict[str, Json] = {"description": description} if description else {}
    return {
        "type": "function",
        "function": {"name": name, **words, "parameters": parameters},
        "x-mutates": name in decided.mutates,
        "x-requires-confirmation": name in decided.confirm,
    }
