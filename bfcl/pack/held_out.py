"""What does `held_out.yaml` reserve, and what is left of the fixtures without it? Rule: pack.md §8."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import Digest, sha256_of
from bfcl.errors import PackError, Problem, did_you_mean
from bfcl.located import Document, canonical_word
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.model import HeldOut, Manifest, Pack
from bfcl.pack.schema_check import fields
from bfcl.pack.shape import Pointer, Shape, dotted

CODE: Final = "held_out_contract_invalid"
CONTRACT_VERSION: Final = "1.0"
CANONICAL_NAME: Final = "held_out.yaml"

_DERIVED_KEYS: Final = ("contract_version", "source")


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
    root = document.value
    if not isinstance(root, dict):
        reader.misfit(root, (), "a mapping")
        return None, reader.problems
    policy = reader.policy(root, source)
    return (None, reader.problems) if reader.problems else (policy, [])


class _Reader:
    def __init__(self, document: Document, around: Surroundings) -> None:
        self._shape = Shape(document, CODE)
        self._around = around

    @property
    def problems(self) -> list[Problem]:
        return self._shape.problems

    def policy(self, root: Mapping[str, Json], source: str) -> HeldOut:
        """The policy; fields at fault hold their default."""
        self._closed(root, (), fields("held_out"))
        block = self._mapping(root.get("policy"), ("policy",))
        self._closed(block, ("policy",), fields("held_out", ("properties", "policy")))
        fixtures = self._mapping(root.get("fixtures"), ("fixtures",))
        return HeldOut(
            version=self._version(root),
            fixtures={name: self._reserved(name, fixtures[name]) for name in sorted(fixtures)},
            templates=self._templates(root.get("templates")),
            fixtures_in_backend_state=self._flag(block.get("fixtures_in_backend_state")),
            seed=self._seed(block.get("seed")),
            source=source,
        )

    def _version(self, root: Mapping[str, Json]) -> str:
        value = root.get("version")
        if value is None:
            place = ("version",) if "version" in root else ()
            self._fault("missing_version", place, "`version` is required", 'add `version: "1"`')
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
            self.misfit(value, ("version",), "non-empty text or a number")
            return ""
        return str(value).strip()

    def _flag(self, value: Json) -> bool:
        if value is None or isinstance(value, bool):
            return value is not False
        self.misfit(value, ("policy", "fixtures_in_backend_state"), "true or false")
        return True

    def _seed(self, value: Json) -> int:
        if value is None:
            return 0
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.misfit(value, ("policy", "seed"), "an integer")
        return 0

    def _templates(self, value: Json) -> tuple[str, ...]:
        found: set[str] = set()
        known = self._around.template_ids
        for index, item in enumerate(self._items(value, ("templates",))):
            place = ("templates", index)
            if not isinstance(item, str) or not item.strip():
                self.misfit(item, place, "the id of a template")
            elif item in found:
                self._fault("duplicate_template", place, f"lists template {canonical_word(item)} twice", "keep one")
            elif known is not None and item not in known:
                message = f"reserves template {canonical_word(item)}, which the pack does not have"
                self._fault("unknown_template", place, message, did_you_mean(item, known) or "remove it")
            else:
                found.add(item)
        return tuple(sorted(found))

    def _reserved(self, name: str, value: Json) -> tuple[str | int, ...]:
        """The reserved ids of one collection, as its rows carry them."""
        keys = self._row_keys(name)
        absent = {str(one) for one in self._around.manifest.absent_ids.get(name, ())}
        seen: set[str] = set()
        found: dict[str, str | int] = {}
        for index, item in enumerate(self._items(value, ("fixtures", name))):
            place = ("fixtures", name, index)
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                self.misfit(item, place, "text or a number")
                continue
            text = str(item)
            what = f"{canonical_word(item)} of `{name}`"
            if text in seen:
                self._fault("duplicate_fixture_id", place, f"reserves {what} twice, compared as text", "keep one")
            elif text in absent:
                message = f"reserves {what}, which `absent_ids.{name}` of the manifest declares absent"
                self._fault("absent_id_reserved", place, message, "remove it from one of the two")
            elif keys is not None and text not in keys:
                message = f"reserves {what}, but no row has that primary key"
                self._fault("unknown_fixture_id", place, message, did_you_mean(text, keys) or "remove it")
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
            self._fault("unknown_collection", place, message, did_you_mean(name, known) or "remove it")
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

    # --- shapes; each message starts with its problem ---

    def _mapping(self, value: Json, pointer: Pointer) -> Mapping[str, Json]:
        if isinstance(value, dict):
            return value
        if value is not None:
            self.misfit(value, pointer, "a mapping")
        return {}

    def _items(self, value: Json, pointer: Pointer) -> Sequence[Json]:
        if isinstance(value, list):
            return value
        if value is not None:
            self.misfit(value, pointer, "a list")
        return []

    def _closed(self, value: Mapping[str, Json], pointer: Pointer, known: Sequence[str]) -> None:
        for key in value:
            where = f" in `{dotted(pointer)}`" if pointer else ""
            if key in known:
                continue
            if not pointer and key in _DERIVED_KEYS:
                self._fault("derived_key", (key,), f"`{key}` is derived and never written", "remove it")
            else:
                fix = did_you_mean(key, known) or f"use one of {', '.join(sorted(known))}"
                self._fault("unknown_key", (*pointer, key), f"unknown key `{key}`{where}", fix)

    def misfit(self, value: Json, pointer: Pointer, expected: str) -> None:
        """Note that a value is not what its place asks for."""
        name = f"`{dotted(pointer)}`" if pointer else "the file"
        self._fault("wrong_type", pointer, f"{name} is {canonical_word(value)}; expected {expected}", None)

    def _fault(self, problem: str, pointer: Pointer, message: str, fix: str | None) -> None:
        self._shape.refuse(pointer, f"{problem}: {message}", fix)


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
