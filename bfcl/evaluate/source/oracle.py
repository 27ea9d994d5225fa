"""Is the pack that answers the one the benchmark was made with, and does it answer? Rule: evaluation.md §3, 10-11."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.config.model import Lineage, OraclePackPaths, OracleRuntime, RunConfig
from bfcl.digest import Digest, sha256_file, sha256_of
from bfcl.errors import BfclError, DriftError, EvalError, OracleError, PackError, Problem, raise_all
from bfcl.evaluate.settings.model import EvalSettings, SourceOracle
from bfcl.evaluate.source.gates import Place, SourceGate, refusal, retold
from bfcl.evaluate.source.verified import CheckedOracle
from bfcl.located import parse_json
from bfcl.oracle.private import private_oracle
from bfcl.pack.fingerprint import declared_inputs, read_tree
from bfcl.pack.layout import logical_name
from bfcl.pack.load import Reading, read_pack
from bfcl.pack.model import Pack
from bfcl.pack.normalise import normalised
from bfcl.release.read import Release
from bfcl.stages.artifacts import ARTIFACTS, MANIFEST_FILE

RESOURCE_MISMATCH: Final = "eval_source_oracle_resource_mismatch"
PACK_DRIFT: Final = "eval_source_oracle_pack_drift"

_SELECTED: Final[Mapping[str, str]] = {
    "fixtures_normalized": "fixtures",
    "task_templates_normalized": "templates",
}
"""Artifacts that tell which files the run really used: those that a generation configuration can override."""
_TREE: Final = "tree/"
_PATHS: Final = "stage_cache/pack_paths.json"
_UNDECLARED: Final = "not a declared oracle input, and still part of the pack"
RESTORE: Final = "restore the pack as it was, or generate the benchmark again and evaluate that one"
SETTLE: Final = "start the evaluation again once nobody edits the pack"
_NAME_IT: Final = "set `source_oracle.resource` to the file that the pack's manifest selects"


def check_oracle(settings: EvalSettings, release: Release) -> CheckedOracle | None:
    """Gate ten: the oracle's pack loaded from its own manifest, or None where the configuration names no oracle.

    No service is contacted and no code of the pack is imported.
    Raises: EvalError `eval_source_oracle_pack_drift`, `eval_source_oracle_resource_mismatch`.
    """
    named = settings.oracle
    if named is None:
        return None
    described = release.manifest["oracle"]
    kind = described.get("kind") if isinstance(described, Mapping) else None
    if named.kind != kind:
        message = f"source_oracle.kind is `{named.kind}`, {MANIFEST_FILE} says `{kind}`"
        place = Place(file=settings.path, field="source_oracle.kind")
        fix = "name the pack that the benchmark was made with"
        raise EvalError(refusal(SourceGate.PACK, RESOURCE_MISMATCH, message, place=place, fix=fix))
    if named.kind == "endpoint":
        message = "source_oracle.kind is `endpoint`; expected `python`: live endpoints come with a later release"
        place = Place(file=settings.path, field="source_oracle.kind")
        fix = "evaluate with `mode: [trace]` and `source_oracle: null`"
        raise EvalError(refusal(SourceGate.PACK, RESOURCE_MISMATCH, message, place=place, fix=fix))
    resource_hash = _resource_hash(named, settings.source.oracle_hash)
    config = _config(settings, named, release)
    reading = _read(named, config, release)
    pack = reading.pack
    if pack is None or reading.problems:
        # A pack that moved is told as such: what keeps it from loading may be nothing but the edit.
        raise_all(EvalError, list(_moved(release, _entries(named, pack), pack, named.pack_manifest.parent)))
        raise EvalError(retold(SourceGate.PACK, RESOURCE_MISMATCH, reading.problems, file=named.pack_manifest))
    raise_all(EvalError, list(_selection_problems(pack, named)))
    raise_all(EvalError, list(_moved(release, pack.entries, pack, pack.root)))
    raise_all(EvalError, list(_fingerprint_problems(release, pack)))
    raise_all(EvalError, list(_override_problems(release, pack)))
    return CheckedOracle(pack=pack, config=config, resource_hash=resource_hash, probed=False)


def _resource_hash(named: SourceOracle, resolved: Digest | None) -> Digest:
    try:
        seen = sha256_file(named.resource)
    except OSError as error:
        message = f"`{named.resource.name}` cannot be read: {error.strerror}; the evaluation was configured with it"
        raise EvalError(
            refusal(SourceGate.PACK, PACK_DRIFT, message, place=Place(file=named.resource), fix=RESTORE)
        ) from None
    if seen != resolved:
        message = f"`{named.resource.name}` has {seen}; the evaluation was configured with {resolved}"
        raise EvalError(refusal(SourceGate.PACK, PACK_DRIFT, message, place=Place(file=named.resource), fix=SETTLE))
    return seen


def _config(settings: EvalSettings, named: SourceOracle, release: Release) -> RunConfig:
    """What a pack is loaded and started with: its manifest alone, no override, the evaluation's deadlines."""
    limits, output = settings.limits, settings.outputs.output_dir
    return RunConfig(
        family="bfcl",
        expt_name=output.name,
        output_dir=output.parent,
        oracle_pack=OraclePackPaths(manifest_path=named.pack_manifest),
        oracle_runtime=OracleRuntime(
            clock=str(release.manifest["oracle_clock"]),
            tool_timeout_s=limits.tool_timeout_s,
            assertion_timeout_s=limits.tool_timeout_s,
            import_timeout_s=limits.tool_timeout_s,
            reset_timeout_s=limits.tool_timeout_s,
            episode_timeout_s=limits.episode_timeout_s,
            # Wherever its files lie, the release pins every byte of them.
            allowed_roots=(Path(named.pack_manifest.absolute().anchor),),
        ),
        lineage=Lineage(policy="smoke_no_publication"),
    )


def _read(named: SourceOracle, config: RunConfig, release: Release) -> Reading:
    try:
        return read_pack(config, project=named.pack_manifest.parent)
    except PackError as error:
        raise_all(EvalError, list(_moved(release, _entries(named, None), None, named.pack_manifest.parent)))
        raise EvalError(retold(SourceGate.PACK, RESOURCE_MISMATCH, error.problems, file=named.pack_manifest)) from None


def _entries(named: SourceOracle, pack: Pack | None) -> Mapping[str, Digest]:
    """The files as they lie there, of a pack that does not load. Raises: EvalError where an entry is refused."""
    if pack is not None and pack.entries:
        return pack.entries
    try:
        return read_tree(named.pack_manifest.parent, {}).digests
    except PackError as error:
        raise EvalError(retold(SourceGate.PACK, PACK_DRIFT, error.problems)) from None


def _selection_problems(pack: Pack, named: SourceOracle) -> Iterator[Problem]:
    backend = pack.files.get("backend")
    selected = pack.files["endpoint"].path if backend is None else backend.path
    if selected != Path(os.path.realpath(named.resource)):
        given = logical_name(Path(os.path.realpath(named.resource)), pack.root, named.resource.name)
        wanted = logical_name(selected, pack.root, "backend")
        message = f"source_oracle.resource is {given}, the pack's manifest selects {wanted}"
        place = Place(file=named.pack_manifest, field="source_oracle.resource")
        yield refusal(SourceGate.PACK, RESOURCE_MISMATCH, message, place=place, fix=_NAME_IT)


def _moved(release: Release, after: Mapping[str, Digest], pack: Pack | None, root: Path) -> Iterator[Problem]:
    """A problem for each file that is not as the release has it, in path order."""
    before, declared = _files(release), _declared(release, pack)
    for logical in sorted({*before, *after}, key=str.encode):
        was, now = before.get(logical), _hex(after.get(logical))
        if was == now:
            continue
        what = "was added" if was is None else "was removed" if now is None else "changed"
        message = (
            f"{logical} {what} since the benchmark was made: the pack has {_told(now)}, {MANIFEST_FILE} says "
            f"{_told(was)} ({declared.get(logical, _UNDECLARED)})"
        )
        inside = logical.startswith(_TREE)
        place = Place(
            file=root / logical.removeprefix(_TREE) if inside else None,
            field=logical,
            subject=None if inside else logical,
        )
        yield refusal(SourceGate.PACK, PACK_DRIFT, message, place=place, fix=RESTORE)


def _declared(release: Release, pack: Pack | None) -> Mapping[str, str]:
    """Logical path of each declared oracle input, of the run and of the pack as it is now, to what is said of it.

    What the run left to tell its own is pinned by nothing; only the wording depends on it.
    """
    declared = (
        {} if pack is None else {name: f"a declared oracle input: {of}" for name, of in declared_inputs(pack).items()}
    )
    path = release.run_dir / _PATHS
    try:
        value = parse_json(path.read_bytes(), path=str(path), code=PACK_DRIFT).value
    except (OSError, BfclError):
        return declared
    for role, entry in value.items() if isinstance(value, Mapping) else ():
        logical = entry.get("path") if isinstance(entry, Mapping) else None
        if isinstance(logical, str):
            declared.setdefault(logical, f"a declared oracle input: `{role}` of the run")
    return declared


def _files(release: Release) -> dict[str, str]:
    """The release's files of the pack, logical path to hex digest."""
    pack = release.manifest["pack"]
    files = pack.get("files") if isinstance(pack, Mapping) else None
    return {name: str(one).removeprefix("sha256:") for name, one in files.items()} if isinstance(files, Mapping) else {}


def _hex(digest: Digest | None) -> str | None:
    return None if digest is None else digest.removeprefix("sha256:")


def _told(digest: str | None) -> str:
    return "none" if digest is None else f"sha256:{digest}"


def _fingerprint_problems(release: Release, pack: Pack) -> Iterator[Problem]:
    """Where the manifest's own list and aggregate, or names, disagree: every file of the list is as it says."""
    block = release.manifest["pack"]
    stated: Mapping[str, Json] = block if isinstance(block, Mapping) else {}
    wanted: dict[str, str] = {
        "content_hash": pack.fingerprint,
        "pack_id": pack.manifest.pack_id,
        "version": pack.manifest.version,
    }
    for name, seen in wanted.items():
        if stated.get(name) != seen:
            message = f"the pack at hand has {name} {seen}, {MANIFEST_FILE} says {stated.get(name)}"
            place = Place(file=release.run_dir / MANIFEST_FILE, field=f"pack.{name}")
            yield refusal(SourceGate.PACK, PACK_DRIFT, message, place=place, fix=RESTORE)


def _override_problems(release: Release, pack: Pack) -> Iterator[Problem]:
    """Where the run used other files of the same tree than the pack's manifest selects."""
    copies = normalised(pack)
    for name, role in _SELECTED.items():
        seen, wanted = sha256_of(copies[Path(ARTIFACTS[name].file).name]), release.artifacts[name]
        if seen != wanted:
            message = f"the {role} that the pack's manifest selects give {seen}, the run used {wanted}"
            place = Place(file=release.run_dir / MANIFEST_FILE, field=f"artifacts.{name}.content_hash")
            fix = "generate the benchmark without the override of that file, and evaluate that one"
            yield refusal(SourceGate.PACK, RESOURCE_MISMATCH, message, place=place, fix=fix)


def probe(oracle: CheckedOracle) -> None:
    """Gate eleven: import the backend in a throwaway process worker and see what it exposes.

    Raises: EvalError `eval_source_oracle_resource_mismatch`; `eval_source_oracle_pack_drift` where the pack moved.
    """
    pack = oracle.pack
    place = Place(file=pack.files["backend"].path)
    try:
        with private_oracle(pack, oracle.config, jobs=1) as running:
            found = running.describe()
    except DriftError as error:
        raise EvalError(retold(SourceGate.PROBE, PACK_DRIFT, error.problems)) from None
    except (OracleError, PackError) as error:
        raise EvalError(retold(SourceGate.PROBE, RESOURCE_MISMATCH, error.problems, file=place.file)) from None
    for breakdown in (found.backend_breakdown, found.tools_breakdown):
        if breakdown is not None:
            where = "" if breakdown.where is None else f" at {breakdown.where}"
            message = f"the backend broke in a worker{where}: {breakdown.code}: {breakdown.message}"
            fix = "mend the backend, or raise `limits.tool_timeout_s` where it only was slow"
            raise EvalError(refusal(SourceGate.PROBE, RESOURCE_MISMATCH, message, place=place, fix=fix))
    if found.missing_callables:
        listed = ", ".join(sorted(found.missing_callables))
        message = f"the backend exposes no usable {listed}; expected call_tool, get_state, list_tools, reset"
        raise EvalError(refusal(SourceGate.PROBE, RESOURCE_MISMATCH, message, place=place, fix=RESTORE))
