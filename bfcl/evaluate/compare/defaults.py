"""What does an omitted argument mean by the schema that declares it? Rule: evaluation.md §8, step 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bfcl.canonical import Json
from bfcl.pack.json_pointer import pointer_parts


@dataclass(slots=True, kw_only=True)
class Shape:
    """The declared parts of a value, as far as defaults lie in them."""

    members: dict[str, Shape] = field(default_factory=dict)
    defaults: dict[str, Json] = field(default_factory=dict)
    """Declared default by member, itself filled in."""
    others: Shape | None = None
    """Of members that are not declared by name."""
    items: Shape | None = None
    """Of a list's items."""
    declared: frozenset[str] = frozenset()

    @property
    def plain(self) -> bool:
        """Whether no default lies anywhere in it."""
        return not (self.members or self.defaults or self.others or self.items)

    def filled(self, value: Json) -> Json:
        """The value with every declared default that it omits, at any depth."""
        if isinstance(value, Mapping) and (self.members or self.defaults or self.others):
            told = {name: self.member(name, one) for name, one in value.items()}
            return {**self.defaults, **told}
        if isinstance(value, list | tuple) and self.items is not None:
            return [self.items.filled(item) for item in value]
        return value

    def member(self, name: str, value: Json) -> Json:
        """The value of a member, filled in."""
        shape = self.members.get(name) if name in self.declared else self.others
        return value if shape is None else shape.filled(value)


def shape_of(schema: Mapping[str, Json]) -> Shape:
    """The shape of a parameter schema. It must have passed the schema step: a reference in a circle never ends."""
    return _shape(schema, schema)


def _shape(root: Mapping[str, Json], schema: Json) -> Shape:
    shape = Shape()
    declared: dict[str, list[Json]] = {}
    others: list[Json] = []
    items: list[Json] = []
    for part in _conjuncts(root, schema):
        properties = part.get("properties")
        for name, one in properties.items() if isinstance(properties, Mapping) else ():
            declared.setdefault(name, []).append(one)
        others += [part["additionalProperties"]] if "additionalProperties" in part else []
        items += [part["items"]] if "items" in part else []
    shape.declared = frozenset(declared)
    for name, parts in declared.items():
        member = _joined(root, parts)
        if member is not None:
            shape.members[name] = member
        stated = [one["default"] for part in parts for one in _conjuncts(root, part) if "default" in one]
        if stated:
            shape.defaults[name] = stated[0] if member is None else member.filled(stated[0])
    shape.others, shape.items = _joined(root, others), _joined(root, items)
    return shape


def _joined(root: Mapping[str, Json], schemas: Sequence[Json]) -> Shape | None:
    """The shape of what must satisfy all these schemas, or None where no default lies in it."""
    if not schemas:
        return None
    shape = _shape(root, {"allOf": schemas})
    return None if shape.plain else shape


def _conjuncts(root: Mapping[str, Json], schema: Json) -> Iterator[Mapping[str, Json]]:
    """Every schema that a value of `schema` must satisfy, references and `allOf` followed; its own words first."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    reference, members = schema.get("$ref"), schema.get("allOf")
    if isinstance(reference, str):
        yield from _conjuncts(root, _named(root, reference))
    for member in members if isinstance(members, list | tuple) else ():
        yield from _conjuncts(root, member)


def _named(root: Mapping[str, Json], reference: str) -> Json:
    target: Json = root
    for key in pointer_parts(reference):
        if isinstance(target, Mapping):
            target = target.get(key)
        elif isinstance(target, list | tuple) and key.isascii() and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target
