"""Which models had a hand in the published rows, and in which of them? Rule: evaluation.md §4; gate 14 of §3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bfcl.canonical import Json, canonical_text
from bfcl.digest import Digest, sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.source.gates import SHOWN, Place, SourceGate, refusal
from bfcl.exports.row import ExportRow

EXPOSURE_INVALID: Final = "eval_source_model_exposure_invalid"

Role = Literal["profile", "paraphrase", "surface_judge"]
ROLES: Final[tuple[Role, ...]] = ("profile", "paraphrase", "surface_judge")
_IDENTITY: Final = ("source", "model", "revision", "weights_digest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A model that saw or worded published rows, and the tasks it did so for, in publication order."""

    role: Role
    canonical_id: str
    provider: str | None
    source: str | None
    model: str
    revision: str | None
    weights_digest: str | None
    task_ids: tuple[str, ...]

    @property
    def task_ids_hash(self) -> Digest:
        """SHA-256 of the canonical JSON of the ids in order."""
        return sha256_json(self.task_ids)

    def to_json(self) -> dict[str, Json]:
        """The exposure as identities and reports hold it."""
        return {
            "role": self.role,
            "canonical_id": self.canonical_id,
            "provider": self.provider,
            "model_identity": {
                "source": self.source,
                "model": self.model,
                "revision": self.revision,
                "weights_digest": self.weights_digest,
            },
            "task_count": len(self.task_ids),
            "task_ids_hash": self.task_ids_hash,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    """What the manifest says of an enabled role."""

    canonical_id: str
    provider: str | None
    identity: Mapping[str, str | None]


def read_exposures(manifest: Mapping[str, Json], rows: Sequence[ExportRow], file: Path) -> tuple[Exposure, ...]:
    """One exposure for each enabled role that covers a published row, in the order of `ROLES`.

    `file` is the manifest's. Raises: EvalError `eval_source_model_exposure_invalid` with every fault.
    """
    inventory = _Inventory(manifest, file)
    scopes: dict[Role, tuple[str, ...]] = {
        "profile": tuple(row.task_id for row in rows if row.metadata["profile_hash"] is not None),
        "paraphrase": tuple(row.task_id for row in rows if _wording(row) is not None),
        "surface_judge": tuple(row.task_id for row in rows) if inventory.judging else (),
    }
    inventory.hold(rows, scopes)
    raise_all(EvalError, inventory.problems)
    return tuple(
        Exposure(
            role=role,
            canonical_id=declared.canonical_id,
            provider=declared.provider,
            source=declared.identity["source"],
            model=declared.identity["model"] or "",
            revision=declared.identity["revision"],
            weights_digest=declared.identity["weights_digest"],
            task_ids=scopes[role],
        )
        for role, declared in inventory.roles.items()
        if scopes[role]
    )


def _wording(row: ExportRow) -> str | None:
    """The canonical id that a row names for its wording; empty text where it has one and does not name it."""
    published = row.published
    canonical = published["paraphrase_model_canonical"]
    if canonical is not None:
        return canonical
    attributed = published["paraphrase_model"] is not None or row.metadata["surface_source"] == "model"
    return "" if attributed else None


class _Inventory:
    """Reads the manifest's blocks and holds rows against them, noting every fault."""

    def __init__(self, manifest: Mapping[str, Json], file: Path) -> None:
        self.problems: list[Problem] = []
        self.roles: dict[Role, _Declared] = {}
        self._manifest = manifest
        self._file = file
        self._misread: set[Role] = set()
        quality = manifest["surface_quality_validation"]
        self.judging = not (isinstance(quality, Mapping) and quality.get("enabled") is False)
        models = manifest["models"]
        found = models if isinstance(models, Mapping) else {}
        if sorted(found) != sorted(ROLES):
            listed = ", ".join(sorted(found)) or "nothing"
            self._fault("models", f"names {listed}; expected exactly {', '.join(ROLES)}")
        for role in ROLES:
            if role in found:
                self._read(role, found[role])

    def _read(self, role: Role, value: Json) -> None:
        place = f"models.{role}"
        block = value if isinstance(value, Mapping) else {}
        enabled = block.get("enabled")
        if not isinstance(enabled, bool):
            self._misread.add(role)
            self._fault(f"{place}.enabled", f"is {canonical_text(enabled)}; expected true or false")
            return
        if not enabled:
            return
        identity = _texts(block)
        canonical = block.get("canonical_id")
        if identity is None or not isinstance(canonical, str) or not canonical.strip() or not identity["model"]:
            self._misread.add(role)
            told = f"is {canonical_text(block.get('model_identity'))} with canonical_id {canonical_text(canonical)}"
            self._fault(f"{place}.model_identity", f"{told}; expected both to name the model of an enabled role")
            return
        provider = block.get("provider")
        named = provider if isinstance(provider, str) else None
        self.roles[role] = _Declared(canonical_id=canonical, provider=named, identity=identity)

    def hold(self, rows: Sequence[ExportRow], scopes: Mapping[Role, Sequence[str]]) -> None:
        """Note every row that names a role or a model which the manifest does not declare, and what contradicts it."""
        profiled = bool(scopes["profile"])
        stated = self._manifest.get("profile_influenced_surface")
        if stated is not profiled:
            told = "some" if profiled else "no"
            self._fault("profile_influenced_surface", f"is {canonical_text(stated)}, and {told} row has a profile hash")
        for field, message in list(self._stray(rows))[:SHOWN]:
            self._fault(field, message)

    def _stray(self, rows: Sequence[ExportRow]) -> Iterator[tuple[str, str]]:
        paraphrase = self.roles.get("paraphrase")
        for row in rows:
            profile = row.metadata["profile_hash"]
            if profile is not None and "profile" not in self.roles and "profile" not in self._misread:
                yield "models.profile", f"is off, and row `{row.task_id}` has profile hash {profile}"
            wording = _wording(row)
            if wording is None or "paraphrase" in self._misread:
                continue
            named = f"row `{row.task_id}` names {f'`{wording}`' if wording else 'no model'} for its wording"
            if paraphrase is None:
                yield "models.paraphrase", f"is off, and {named}"
            elif wording.casefold() != paraphrase.canonical_id.casefold():
                yield "models.paraphrase.canonical_id", f"is `{paraphrase.canonical_id}`, and {named}"

    def _fault(self, field: str, message: str) -> None:
        place = Place(file=self._file, field=field)
        self.problems.append(refusal(SourceGate.EXPOSURE, EXPOSURE_INVALID, f"{field} {message}", place=place))


def _texts(block: Mapping[str, Json]) -> dict[str, str | None] | None:
    """The identity's four fields, None where one of them is neither text nor null."""
    value = block.get("model_identity")
    identity = value if isinstance(value, Mapping) else {}
    found: dict[str, str | None] = {}
    for name in _IDENTITY:
        one = identity.get(name)
        if one is not None and not isinstance(one, str):
            return None
        found[name] = (one or "").strip() or None
    return found
