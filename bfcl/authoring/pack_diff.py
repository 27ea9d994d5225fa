"""What differs between two packs, and which published runs are of which? Rule: authoring.md §15, pack.md §12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.authoring.pack_items import Change, Item, Sources, items
from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.errors import BfclError, Problem, ReleaseError, raise_all
from bfcl.located import parse_json
from bfcl.pack.model import Pack

SCHEMA_VERSION: Final = "1.0"
Match: TypeAlias = Literal["both", "a", "b", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two things compared, as `name` calls it: a pack, or the pack a published run was made of.

    `declared` are the logical paths of declared inputs, None where only a run manifest tells of the pack; `sources` is
    None then too.
    """

    name: str
    pack_id: str
    version: str
    content_hash: str
    files: Mapping[str, Digest]
    declared: frozenset[str] | None = None
    sources: Sources | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that differs; `declared` says whether it is a declared oracle input, None where nobody can tell."""

    change: Change
    path: str
    declared: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published run: which of the two packs its manifest names, and what became of it."""

    name: str
    run_id: str
    content_hash: str
    matches: Match
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackDiff:
    """From `a` to `b`. `items` is None where one side is only a manifest."""

    a: Side
    b: Side
    files: tuple[FileChange, ...]
    items: Mapping[str, Sequence[Item]] | None
    published: tuple[Published, ...]

    @property
    def equal(self) -> bool:
        """Whether both have the same fingerprint: the same files with the same bytes."""
        return self.a.content_hash == self.b.content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class RunManifest:
    """What a published run says of its pack."""

    run_id: str
    side: Side


def side_of_pack(name: str, sources: Sources) -> Side:
    """The side a loaded pack makes."""
    pack: Pack = sources.pack
    return Side(
        name=name,
        pack_id=pack.manifest.pack_id,
        version=pack.manifest.version,
        content_hash=pack.fingerprint,
        files=pack.entries,
        declared=frozenset(file.logical for file in pack.files.values()),
        sources=sources,
    )


def read_manifest(name: str, data: bytes) -> RunManifest:
    """Read the pack of a `run_manifest.json`.

    Raises: ReleaseError `release_manifest_invalid` with every fault of what is read; the rest is `bfcl verify`'s.
    """
    try:
        document = parse_json(data, path=name, code="release_manifest_invalid")
    except BfclError as error:
        raise ReleaseError(error.problems) from None
    root = document.value if isinstance(document.value, dict) else {}
    pack = root.get("pack")
    told = pack if isinstance(pack, dict) else {}
    files = told.get("files")
    faults = [key for key in ("pack_id", "version", "content_hash") if not isinstance(told.get(key), str)]
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        faults.append("files")
    raise_all(
        ReleaseError,
        [
            Problem(
                code="release_manifest_invalid",
                path=name,
                line=document.line(("pack", key)),
                field=f"pack.{key}",
                message=f"`pack.{key}` is not there as a run manifest has it; expected one written by `doit generate`",
            )
            for key in faults
        ],
    )
    digests = files if isinstance(files, dict) else {}
    side = Side(
        name=name,
        pack_id=str(told["pack_id"]),
        version=str(told["version"]),
        content_hash=str(told["content_hash"]),
        files={path: Digest(str(digest)) for path, digest in digests.items()},
    )
    return RunManifest(run_id=str(root.get("run_id", "")), side=side)


def pack_diff(a: Side, b: Side, published: Sequence[RunManifest] = ()) -> PackDiff:
    """Compare file by file and, where both sides are packs, item by item; place each published run."""
    files = tuple(_files(a, b))
    told = None if a.sources is None or b.sources is None else items(a.sources, b.sources)
    return PackDiff(
        a=a, b=b, files=files, items=told, published=tuple(_placed(each, a, b, files) for each in published)
    )


def _files(a: Side, b: Side) -> list[FileChange]:
    found = []
    known = (
        None if a.declared is None and b.declared is None else (a.declared or frozenset()) | (b.declared or frozenset())
    )
    for path in sorted({*a.files, *b.files}, key=str.encode):
        if a.files.get(path) == b.files.get(path):
            continue
        change: Change = "added" if path not in a.files else "removed" if path not in b.files else "changed"
        found.append(FileChange(change=change, path=path, declared=None if known is None else path in known))
    return found


def _placed(run: RunManifest, a: Side, b: Side, files: Sequence[FileChange]) -> Published:
    seen = run.side.content_hash
    match: Match = "both" if seen == a.content_hash == b.content_hash else "a" if seen == a.content_hash else "neither"
    if match == "neither" and seen == b.content_hash:
        match = "b"
    said = {
        "both": "keeps matching",
        "a": f"stops matching: {reason(files)}",
        "b": "matches the second only",
        "neither": "matches neither",
    }[match]
    return Published(name=run.side.name, run_id=run.run_id, content_hash=seen, matches=match, said=said)


def reason(files: Sequence[FileChange]) -> str:
    """Why the fingerprints differ, in words. Rule: pack.md §12: every file counts, whatever it is for."""
    declared = [one.path for one in files if one.declared]
    if declared:
        several = "declared inputs" if len(declared) > 1 else "a declared input"
        return f"{several} changed ({_listed(declared)})"
    paths = _listed([one.path for one in files])
    if any(one.declared is None for one in files):
        return f"files changed ({paths})"
    kind = "undeclared files" if len(files) > 1 else "an undeclared file"
    return f"{kind} changed ({paths}); no declared oracle input changed"


def _listed(paths: Sequence[str], most: int = 4) -> str:
    shown = [path.removeprefix("tree/") for path in paths[:most]]
    return ", ".join(shown) + (f" and {len(paths) - most} more" if len(paths) > most else "")


def document(found: PackDiff) -> dict[str, Json]:
    """The comparison as data."""
    told: Json = None
    if found.items is not None:
        told = {section: [_item(one) for one in several] for section, several in found.items.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "equal" if found.equal else "different",
        "a": _side(found.a),
        "b": _side(found.b),
        "reason": None if found.equal else reason(found.files),
        "files": [{"change": one.change, "path": one.path, "declared_input": one.declared} for one in found.files],
        "items": told,
        "manifests": [
            {
                "path": one.name,
                "run_id": one.run_id,
                "content_hash": one.content_hash,
                "matches": one.matches,
                "said": one.said,
            }
            for one in found.published
        ],
    }


def _side(side: Side) -> dict[str, Json]:
    return {
        "path": side.name,
        "kind": "manifest" if side.sources is None else "pack",
        "pack_id": side.pack_id,
        "version": side.version,
        "content_hash": side.content_hash,
    }


def _item(item: Item) -> dict[str, Json]:
    return {"change": item.change, "name": item.name, "collection": item.group, "details": list(item.details)}
