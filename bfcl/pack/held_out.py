"""What does `held_out.yaml` reserve, and what is left of the fixtures without it? Rule: pack.md §8."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import Digest, sha256_of
from bfcl.errors import PackError, Problem, closest
from bfcl.located import Document, canonical_word
from bfcl.pack.conform import expected, without
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.model import HeldOut, Manifest, Pack
from bfcl.pack.schema_check import Fault, compiled
from bfcl.pack.shape import Pointer, Shape, dotted

CODE: Final = "held_out_contract_invalid"
CONTRACT_VERSION: Final = "1.0"
CANONICAL_NAME: Final = "held_out.yaml"

_DERIVED: Final = (("contract_version",), ("source",))


class Surroundings(NamedTuple):
    """The rest of the pack, as far as it loaded. None stands for a file that did not, which is told elsewhere."""

    manifest: Manifest
    fixtures: Mapping[str, Json] | None
    template_ids: Collection[str] | None


def load_held_out(document: Document, source: str, around: Surroundings) -> tuple[HeldOut | None, list[Problem]]:
    """The policy in normal form, or None with every `held_out_contract_invalid`; each message starts with its problem.

    `source` is the file's logical path.
    """
    reader = _Reader(document, around)
    policy = reader.policy(reader.fitting(document.value), source)
    return (None, reader.problems) if reader.problems else (policy, [])


class _Reader:
    def __init__(self, document: Document, around: Surroundings) -> None:
        self._shape = Shape(document, CODE)
        self._around = around

    @property
    def problems(self) -> list[Problem]:
        return self._shape.problems

    def fitting(self, value: Json) -> Mapping[str, Any]:
        """The file's mapping without what does not fit the schema, each fault noted under its problem."""
        # Ids are compared as text, which the schema's own comparison is too narrow for.
        faults = [one for one in compiled("held_out")(value) or () if not _is_repeated_id(one)]
        for fault in faults:
            self._tell(fault)
        fitting: Mapping[str, Any] = without(value, {fault.pointer for fault in faults})
        return fitting

    def _tell(self, fault: Fault) -> None:
        pointer, value = fault.pointer, fault.value
        match fault.keyword:
            case "required":
                place = pointer if isinstance(value, Mapping) and pointer[-1] in value else ()
                self._fault("missing_version", place, "`version` is required", 'add `version: "1"`')
            case "additionalProperties" if pointer in _DERIVED:
                self._fault("derived_key", pointer, f"`{dotted(pointer)}` is derived and never written", "remove it")
            case "additionalProperties":
                known = fault.part["properties"]
                self._shape.inside((), "unknown_key").unknown(pointer, known, known)
            case "uniqueItems":
                message = f"lists template {canonical_word(value)} twice"
                self._fault("duplicate_template", pointer, message, "keep one")
            case _:
                what, wanted = (f"`{dotted(pointer)}`", expected(fault.part)) if pointer else ("the file", "a mapping")
                self._fault("wrong_type", pointer, f"{what} is {canonical_word(value)}; expected {wanted}", None)

    def policy(self, root: Mapping[str, Any], source: str) -> HeldOut:
        """The policy of a mapping that fits the schema; fields at fault hold their default."""
        block = root.get("policy") or {}
        fixtures = root.get("fixtures") or {}
        return HeldOut(
            version=str(root.get("version", "")).strip(),
            fixtures={name: self._reserved(name, fixtures[name] or ()) for name in sorted(fixtures)},
            templates=self._templates(root.get("templates") or ()),
            fixtures_in_backend_state=block.get("fixtures_in_backend_state") is not False,
            seed=block.get("seed") or 0,
            source=source,
        )

    def _templates(self, listed: Sequence[str | None]) -> tuple[str, ...]:
        """The reserved ids, sorted. Null stands for what was at fault."""
        known = self._around.template_ids
        for index, item in enumerate(listed):
            if item is not None and known is not None and item not in known:
                message = f"reserves template {canonical_word(item)}, which the pack does not have"
                self._fault("unknown_template", ("templates", index), message, "remove it", closest(item, known))
        return tuple(sorted(item for item in listed if item is not None))

    def _reserved(self, name: str, listed: Sequence[str | float | None]) -> tuple[str | int, ...]:
        """The reserved ids of one collection, as its rows carry them. Null stands for what was at fault."""
        keys = self._row_keys(name)
        absent = {str(one) for one in self._around.manifest.absent_ids.get(name, ())}
        seen: set[str] = set()
        found: dict[str, str | int] = {}
        for index, item in enumerate(listed):
            if item is None:
                continue
            place = ("fixtures", name, index)
            text = str(item)
            what = f"{canonical_word(item)} of `{name}`"
            if text in seen:
                self._fault("duplicate_fixture_id", place, f"reserves {what} twice, compared as text", "keep one")
            elif text in absent:
                message = f"reserves {what}, which `absent_ids.{name}` of the manifest declares absent"
                self._fault("absent_id_reserved", place, message, "remove it from one of the two")
            elif keys is not None and text not in keys:
                message = f"reserves {what}, but no row has that primary key"
                self._fault("unknown_fixture_id", place, message, "remove it", closest(text, keys))
            elif keys is not None:
                found[text] = keys[text]
            seen.add(text)
        return tuple(found[text] for text in sorted(found))

    def _row_keys(self, name: str) -> Mapping[str, str | int] | None:
        """Primary key as text to the key itself, None where the collection cannot say."""
        fixtures = self._around.fixtures
        if fixtures is None:
            return None
        place = ("fixtures", name)
        rows = collection_rows(fixtures, name)
        if rows is None:
            known = [one for one in fixtures if collection_rows(fixtures, one) is not None]
            message = f"reserves rows of `{name}`, which fixtures.json does not have as a list of rows"
            self._fault("unknown_collection", place, message, "remove it", closest(name, known))
            return None
        if not rows:
            return {}
        try:
            key = primary_key(name, rows, self._around.manifest)
        except PackError as error:
            first = error.problems[0]
            message = f"the rows of `{name}` have no clear key: {first.message}"
            self._fault("primary_key_unclear", place, message, first.fix)
            return None
        values = [row[key] for row in rows]
        return {str(value): value for value in values if isinstance(value, str | int)}

    def _fault(
        self, problem: str, pointer: Pointer, message: str, fix: str | None, suggests: str | None = None
    ) -> None:
        """Note a fault; its message starts with its `problem`."""
        self._shape.inside((), problem).refuse(pointer, message, fix, suggests=suggests)


def _is_repeated_id(fault: Fault) -> bool:
    return fault.keyword == "uniqueItems" and fault.pointer[0] == "fixtures"


# --- what follows from a policy -------------------------------------------------------------------------------------


def fixture_ref(collection: str, primary_id: str | int) -> str:
    """How a task names a row it binds: canonical JSON `["COLL","<id as text>"]`. Rule: generation.md §3.1."""
    return canonical_text([collection, str(primary_id)])


def reserved_refs(held_out: HeldOut | None) -> frozenset[str]:
    """References of all reserved rows; none without a policy."""
    if held_out is None:
        return frozenset()
    return frozenset(fixture_ref(name, one) for name, ids in held_out.fixtures.items() for one in ids)


def reset_fixtures(pack: Pack) -> Mapping[str, Json]:
    """The fixtures every reset is given: all, or those without the reserved rows where the policy says so."""
    held_out = pack.held_out
    if held_out is None or held_out.fixtures_in_backend_state or not reserved_refs(held_out):
        return pack.fixtures
    kept = dict(pack.fixtures)
    for name, ids in held_out.fixtures.items():
        rows = collection_rows(pack.fixtures, name)
        if rows and ids:
            key = primary_key(name, rows, pack.manifest)
            reserved = {str(one) for one in ids}
            kept[name] = [row for row in rows if str(row[key]) not in reserved]
    return kept


def policy_json(held_out: HeldOut) -> dict[str, Json]:
    """The policy in normal form, as `held_out_normalized.json` holds it and its hash covers it."""
    return {
        "contract_version": CONTRACT_VERSION,
        "version": held_out.version,
        "source": held_out.source,
        "fixtures": held_out.fixtures,
        "templates": held_out.templates,
        "policy": {"fixtures_in_backend_state": held_out.fixtures_in_backend_state, "seed": held_out.seed},
    }


def policy_hash(held_out: HeldOut) -> Digest:
    """SHA-256 of the normal form's canonical JSON."""
    return sha256_of(canonical_json(policy_json(held_out)))


def policy_summary(held_out: HeldOut) -> dict[str, Json]:
    """What published documents say of a policy: which one it is and how much it reserves, never what."""
    return {
        "contract_version": CONTRACT_VERSION,
        "version": held_out.version,
        "source": held_out.source,
        "policy_hash": policy_hash(held_out),
        "fixture_ref_count": len(reserved_refs(held_out)),
        "template_count": len(held_out.templates),
        "fixtures_in_backend_state": held_out.fixtures_in_backend_state,
        "seed": held_out.seed,
    }
