"""What do the run manifest and the oracle files that a configuration names say of themselves? Rule: evaluation.md §2.

Only what the configuration cannot do without is read here. Whether it is true is for the gates (§3).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_of
from bfcl.errors import BfclError
from bfcl.evaluate.settings.model import ClaimedSource, Mode, SourceOracle, needs_oracle
from bfcl.evaluate.settings.policies import PATH_INVALID
from bfcl.evaluate.settings.reading import DIGEST, Section, content_hash, led_to
from bfcl.located import parse_json, parse_yaml
from bfcl.stages.artifacts import SCHEMA_VERSION

_FIELD: Final = "source_run_manifest"
_KINDS: Final[tuple[Literal["python", "endpoint"], ...]] = ("python", "endpoint")
_SUFFIXES: Final[Mapping[str, tuple[str, ...]]] = {"python": (".py",), "endpoint": (".yaml", ".yml", ".json")}
_NAME_IT: Final = "give the path of the `run_manifest.json` of a finished run"
_UNSUPPORTED: Final = "unsupported_config_feature"


class Claimed(NamedTuple):
    """A run manifest and what the configuration takes from it."""

    source: ClaimedSource
    manifest: Mapping[str, Json]


class NamedOracle(NamedTuple):
    """An oracle's files and their content hashes."""

    oracle: SourceOracle
    pack_manifest_hash: Digest
    resource_hash: Digest


class _File(NamedTuple):
    path: Path
    content_hash: Digest


def read_claimed(root: Section) -> Claimed | None:
    """What the run manifest claims, None with every fault of it noted as `eval_config_path_invalid`."""
    name = root.text(_FIELD)
    if not name:
        return None
    path = root.reading.resolved(name)
    if path.suffix == ".parquet":
        root.wrong(_FIELD, f"a run manifest, not a table; {led_to(path, name)}", _NAME_IT, code=PATH_INVALID)
        return None
    read = _manifest(root, path)
    if read is None:
        return None
    data, manifest = read
    faults = list(_faults(manifest, path))
    for fault in faults:
        message = f"names a run manifest {fault}"
        root.reading.refuse((_FIELD,), message, "generate the benchmark again, or name another run", code=PATH_INVALID)
    if faults:
        return None
    file = _at(manifest, "publication", "published", "file")
    source = ClaimedSource(
        manifest=path,
        manifest_hash=sha256_of(data),
        run_id=str(manifest["run_id"]),
        benchmark=path.parent / str(file),
        benchmark_hash=Digest(str(_benchmark_hash(manifest))),
        benchmark_schema_version=str(manifest["schema_version"]),
        lineage_policy=str(manifest["lineage_policy"]),
        gold_eligible=manifest["gold_eligible"] is True,
        oracle_hash=None,
    )
    return Claimed(source, manifest)


def read_oracle(root: Section, claimed: Claimed | None, modes: tuple[Mode, ...]) -> NamedOracle | None:
    """The oracle's files, None where none are named or one of them is not what the run manifest says."""
    if root.value("source_oracle") is None:
        if root.sound("source_oracle") and needs_oracle(modes):
            message = "needs the oracle, and `source_oracle` is null; expected only `trace`"
            fix = "name the pack's files under `source_oracle`, or write `[trace]`"
            root.reading.refuse(root.at("eval", "mode"), message, fix)
        return None
    block = root.section("source_oracle", ("kind", "pack_manifest", "resource"))
    kind = block.word("kind", _KINDS)
    if block.sound("kind"):
        _check_kind(block, kind, claimed)
    pack_manifest = _file(block, "pack_manifest")
    resource = _file(block, "resource", _SUFFIXES[kind])
    if pack_manifest is not None and claimed is not None:
        _check_pack(block, pack_manifest.path, claimed)
    if pack_manifest is None or resource is None:
        return None
    oracle = SourceOracle(kind=kind, pack_manifest=pack_manifest.path, resource=resource.path)
    return NamedOracle(oracle, pack_manifest.content_hash, resource.content_hash)


def check_translation(root: Section) -> None:
    """Note that a localised release cannot be evaluated yet."""
    if root.value("translation_manifest") is not None:
        expected = "null: this release evaluates no localised benchmark"
        root.wrong("translation_manifest", expected, "write `translation_manifest: null`", code=_UNSUPPORTED)


def _manifest(root: Section, path: Path) -> tuple[bytes, Mapping[str, Json]] | None:
    try:
        data = path.read_bytes()
        value = parse_json(data, path=str(path), code=PATH_INVALID).value
    except OSError as error:
        message = f"names a file that cannot be read: {error.strerror}; {led_to(path, str(root.value(_FIELD)))}"
        fix = f"run `doit generate` first, or {_NAME_IT}; a relative path counts from this file's directory"
        root.reading.refuse((_FIELD,), message, fix, code=PATH_INVALID)
        return None
    except BfclError as error:
        first = error.problems[0]
        message = f"names a file whose line {first.line} is no run manifest: {first.message}"
        root.reading.refuse((_FIELD,), message, _NAME_IT, code=PATH_INVALID)
        return None
    if not isinstance(value, Mapping):
        message = "names a file that holds no JSON object; expected a run manifest"
        root.reading.refuse((_FIELD,), message, _NAME_IT, code=PATH_INVALID)
        return None
    return data, value


def _faults(manifest: Mapping[str, Json], path: Path) -> list[str]:
    """What is wrong with a run manifest, each to be read after `names a run manifest`."""
    found = [
        f"without `{key}`; expected text there"
        for key in ("run_id", "lineage_policy")
        if not isinstance(manifest.get(key), str) or not str(manifest[key]).strip()
    ]
    if not isinstance(manifest.get("gold_eligible"), bool):
        found.append("without `gold_eligible`; expected true or false there")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        found.append(f'of another schema version; expected "{SCHEMA_VERSION}", which this release reads')
    claimed = _benchmark_hash(manifest)
    if not isinstance(claimed, str) or not DIGEST.fullmatch(claimed):
        found.append("without `artifacts.benchmark_parquet.content_hash`; expected a `sha256:` digest there")
    file = _at(manifest, "publication", "published", "file")
    if not isinstance(file, str) or not file or file in (".", "..") or Path(file).name != file or "\\" in file:
        found.append("whose `publication.published.file` is no plain name; expected that of a table beside it")
    elif not _lies(path.parent / file):
        found.append("beside which its published table does not lie; expected them in one directory")
    return found


def _lies(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _benchmark_hash(manifest: Mapping[str, Json]) -> Json:
    return _at(manifest, "artifacts", "benchmark_parquet", "content_hash")


def _at(manifest: Mapping[str, Json], *keys: str) -> Json:
    value: Json = manifest
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _check_kind(block: Section, kind: str, claimed: Claimed | None) -> None:
    named = None if claimed is None else _at(claimed.manifest, "oracle", "kind")
    if claimed is not None and named != kind:
        known = f"`{named}`, " if named in _KINDS else ""
        expected = f"{known}the kind of oracle that the run manifest names"
        block.wrong("kind", expected, "name the pack that the benchmark was made from", code=PATH_INVALID)
    elif kind == "endpoint":
        expected = "`python`: this release drives no oracle behind an endpoint"
        fix = "write `source_oracle: null` and `mode: [trace]`, or use a Python oracle"
        block.wrong("kind", expected, fix, code=_UNSUPPORTED)


def _file(block: Section, key: str, suffixes: tuple[str, ...] = ()) -> _File | None:
    name = block.text(key)
    if not name:
        return None
    path = block.reading.resolved(name)
    fix = "give the path of the pack's file; a relative one counts from this file's directory"
    found = content_hash(path)
    if suffixes and path.suffix not in suffixes:
        expected = f"a file that ends in {' or '.join(f'`{one}`' for one in suffixes)}; {led_to(path, name)}"
        block.wrong(key, expected, fix, code=PATH_INVALID)
    elif found is None:
        block.wrong(key, f"a file that can be read; {led_to(path, name)}", fix, code=PATH_INVALID)
    else:
        return _File(path, found)
    return None


def _check_pack(block: Section, path: Path, claimed: Claimed) -> None:
    try:
        value = parse_yaml(path.read_bytes(), path=str(path), code=PATH_INVALID).value
    except OSError as error:
        message = f"names a file that cannot be read: {error.strerror}; {led_to(path)}"
        block.reading.refuse(block.at("pack_manifest"), message, "make it readable", code=PATH_INVALID)
        return
    except BfclError as error:
        message = f"names a file whose line {error.problems[0].line} cannot be read as YAML; expected a pack manifest"
        block.reading.refuse(block.at("pack_manifest"), message, "mend it: `bfcl check` says how", code=PATH_INVALID)
        return
    for key, name in (("pack_id", "id"), ("version", "version")):
        wanted, stated = _at(claimed.manifest, "pack", key), value.get(key) if isinstance(value, Mapping) else None
        if not isinstance(stated, str) or stated.strip() != wanted:
            message = f"names a pack with another {name} than the run manifest's; expected `{wanted}`"
            fix = "name the pack that the benchmark was made from"
            block.reading.refuse(block.at("pack_manifest"), message, fix, code=PATH_INVALID)
