"""Is the run manifest whole, still the one configured, and does it publish anything? Rule: evaluation.md §3, 3-5."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.digest import Digest, sha256_of
from bfcl.errors import BfclError, EvalError, Problem, ReleaseError, raise_all
from bfcl.evaluate.settings.model import ClaimedSource
from bfcl.evaluate.source.gates import REGENERATE, Place, SourceGate, refusal, retold
from bfcl.located import Document, parse_json
from bfcl.pack.layout import shown
from bfcl.release.differences import differences
from bfcl.release.read import TABLE_ARTIFACTS, PublishedTable, Release, open_release
from bfcl.stages.artifacts import MANIFEST_FILE
from bfcl.stages.manifest_blocks import publication_block
from bfcl.tables.benchmark import BenchmarkInfo

MANIFEST_INVALID: Final = "eval_source_manifest_invalid"
MANIFEST_DRIFT: Final = "eval_source_manifest_drift"
PUBLICATION_INVALID: Final = "eval_source_publication_invalid"
HASH_MISMATCH: Final = "eval_source_benchmark_hash_mismatch"

_NAME_IT: Final = "set `source_run_manifest` to the run_manifest.json of a finished run"
_AGAIN: Final = "start the evaluation again, so that it is configured for the benchmark that lies there now"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LATER: Final = ("publication.", "held_out.")
_HASHES: Final = frozenset(f"publication.{name}.content_hash" for name in TABLE_ARTIFACTS)


class Opened(NamedTuple):
    """A release whose manifest passed, and the digest of that manifest's bytes."""

    release: Release
    manifest_hash: Digest


class _Read(NamedTuple):
    document: Document
    digest: Digest


def open_source(source: ClaimedSource) -> Opened:
    """Open the release that a configuration names. Structure is judged before drift, drift before publication.

    Raises: EvalError `eval_source_manifest_invalid`, `eval_source_manifest_drift`, `eval_source_publication_invalid`,
    `eval_source_benchmark_hash_mismatch` (where the manifest contradicts itself), each with every fault of its gate.
    """
    read = _read(source.manifest)
    manifest = read.document.value
    assert isinstance(manifest, Mapping)
    release, faults = _opened(source.manifest, manifest)
    raise_all(EvalError, [problem for gate, problem in faults if gate is SourceGate.MANIFEST])
    raise_all(EvalError, list(_shape_problems(read.document, manifest, source.manifest)))
    raise_all(EvalError, list(_drift_problems(read, source)))
    raise_all(EvalError, [problem for gate, problem in faults if gate is SourceGate.PUBLICATION])
    if release is None:
        raise EvalError([problem for _, problem in faults])
    raise_all(EvalError, list(_publication_problems(release, read.document)))
    return Opened(release, read.digest)


def _read(path: Path) -> _Read:
    fault = None
    if path.name != MANIFEST_FILE:
        fault = f"is called `{path.name}`; expected `{MANIFEST_FILE}`"
    elif path.is_symlink() or not path.is_file():
        fault = "is missing or no regular file; expected the manifest of a published run"
    if fault is not None:
        raise EvalError(refusal(SourceGate.MANIFEST, MANIFEST_INVALID, fault, place=Place(file=path), fix=_NAME_IT))
    try:
        data = path.read_bytes()
        document = parse_json(data, path=shown(path), code=MANIFEST_INVALID)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        problem = refusal(
            SourceGate.MANIFEST, MANIFEST_INVALID, message, place=Place(file=path), fix="make it readable"
        )
        raise EvalError(problem) from None
    except BfclError as error:
        raise EvalError(retold(SourceGate.MANIFEST, MANIFEST_INVALID, error.problems, file=path)) from None
    if not isinstance(document.value, Mapping):
        message = "holds no JSON object; expected a run manifest"
        raise EvalError(refusal(SourceGate.MANIFEST, MANIFEST_INVALID, message, place=Place(file=path), fix=_NAME_IT))
    return _Read(document, sha256_of(data))


def _opened(path: Path, manifest: Mapping[str, Json]) -> tuple[Release | None, list[tuple[SourceGate, Problem]]]:
    """The release, or what is wrong with its manifest and which gate says so."""
    try:
        return open_release(path.parent), []
    except ReleaseError as error:
        return None, [_sorted(problem, path, manifest) for problem in error.problems]


def _sorted(problem: Problem, path: Path, manifest: Mapping[str, Json]) -> tuple[SourceGate, Problem]:
    field, message = problem.field or "", problem.message
    gate, code = SourceGate.MANIFEST, MANIFEST_INVALID
    if field in _HASHES:
        gate, code = SourceGate.BYTES, HASH_MISMATCH
        message = f"{message}; it is {canonical_text(_at(manifest, field))}"
    elif field.startswith(_LATER):
        gate, code = SourceGate.PUBLICATION, PUBLICATION_INVALID
    # Named as every gate names it, wherever the process stands.
    [told] = retold(gate, code, [dataclasses.replace(problem, path=shown(path), message=message)])
    return gate, told


def _at(manifest: Mapping[str, Json], field: str) -> Json:
    value: Json = manifest
    for key in field.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _shape_problems(document: Document, manifest: Mapping[str, Json], path: Path) -> Iterator[Problem]:
    """What the gates behind this one read, and `open_release` leaves alone."""
    wanted: dict[tuple[str, str], tuple[re.Pattern[str], str]] = {
        ("pack", "pack_id"): (re.compile(r".*\S.*", re.DOTALL), "text"),
        ("pack", "version"): (re.compile(r".*\S.*", re.DOTALL), "text"),
        ("pack", "content_hash"): (_DIGEST, "`sha256:` and 64 hex digits"),
        ("oracle", "kind"): (re.compile("python|endpoint"), "`python` or `endpoint`"),
    }
    for place, (pattern, expected) in wanted.items():
        block = manifest[place[0]]
        value = block.get(place[1]) if isinstance(block, Mapping) else None
        if not isinstance(value, str) or not pattern.fullmatch(value):
            message = f"{'.'.join(place)} is {canonical_text(value)}; expected {expected}"
            where = Place(file=path, line=document.line(place), field=".".join(place))
            yield refusal(SourceGate.MANIFEST, MANIFEST_INVALID, message, place=where)
    pack = manifest["pack"]
    files = pack.get("files") if isinstance(pack, Mapping) else None
    if not isinstance(files, Mapping) or not all(isinstance(one, str) for one in files.values()):
        where = Place(file=path, line=document.line(("pack", "files")), field="pack.files")
        message = "pack.files is no object of digests; expected every file of the pack"
        yield refusal(SourceGate.MANIFEST, MANIFEST_INVALID, message, place=where)
    run_id = manifest["run_id"]
    if not isinstance(run_id, str) or not run_id.strip():
        where = Place(file=path, line=document.line(("run_id",)), field="run_id")
        yield refusal(SourceGate.MANIFEST, MANIFEST_INVALID, "run_id is blank; expected an id", place=where)


def _drift_problems(read: _Read, source: ClaimedSource) -> Iterator[Problem]:
    """Where the manifest is no more what the configuration was resolved against."""
    document, manifest = read.document, read.document.value
    assert isinstance(manifest, Mapping)
    stated: dict[str, Json] = {
        "run_id": source.run_id,
        "schema_version": source.benchmark_schema_version,
        "lineage_policy": source.lineage_policy,
        "gold_eligible": source.gold_eligible,
    }
    for name, wanted in stated.items():
        if manifest[name] != wanted:
            place = Place(file=source.manifest, line=document.line((name,)), field=name)
            told = f"{name} is {canonical_text(manifest[name])}, the configuration was read against"
            yield refusal(SourceGate.DRIFT, MANIFEST_DRIFT, f"{told} {canonical_text(wanted)}", place=place, fix=_AGAIN)
    if read.digest != source.manifest_hash:
        message = f"the file has {read.digest}, the configuration was read against {source.manifest_hash}"
        yield refusal(SourceGate.DRIFT, MANIFEST_DRIFT, message, place=Place(file=source.manifest), fix=_AGAIN)


def _publication_problems(release: Release, document: Document) -> Iterator[Problem]:
    """Where the block is not the one that this release's tables and switches make."""
    wanted = publication_block(_info(release.raw), _info(release.published), release.holding)
    for found in differences(release.manifest["publication"], wanted, ("publication",)):
        place = Place(file=release.run_dir / MANIFEST_FILE, line=document.line(found.path), field=found.field)
        message = f"{found.field} {found.told}"
        yield refusal(SourceGate.PUBLICATION, PUBLICATION_INVALID, message, place=place, fix=REGENERATE)


def _info(table: PublishedTable) -> BenchmarkInfo:
    return BenchmarkInfo(table.rows, table.content_hash, table.rows_digest)
