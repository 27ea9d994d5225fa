"""Under which settings was a finished evaluation made? Read from what it left, not from the file it was started with.

`resolved_eval_config.json` holds the payload that `eval_config_hash` is of; everything that counts is in it. Only where
the source lies now has to be found: where it lay then, unless the caller knows better.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypedDict, cast

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.digest import Digest, sha256_file, sha256_json
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.settings.assembled import assembled
from bfcl.evaluate.settings.hashes import Declared, inference_json, scoring_json
from bfcl.evaluate.settings.model import (
    Assurance,
    Candidate,
    ClaimedSource,
    Contamination,
    EvalSettings,
    HeldOutEval,
    Identity,
    Inference,
    Limits,
    Mode,
    Outputs,
    Repeats,
    Scoring,
    SourceOracle,
)
from bfcl.evaluate.settings.publishing import Gates, Publication, weaknesses
from bfcl.evaluate.settings.resolved import FILE, resolved_eval_config
from bfcl.stages.artifacts import MANIFEST_FILE
from bfcl.stages.divergence import first_difference

_ONE_TRIAL: Final = Repeats(trials=1, seed_policy="fixed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where the source of an evaluation lies now; None: where it lay then."""

    run_dir: Path | None = None
    """The published run."""
    pack: Path | None = None
    """The directory of the oracle's pack."""


class _Hashed(TypedDict):
    content_hash: str


class _Oracle(TypedDict):
    kind: Literal["python", "endpoint"]
    pack_manifest: _Hashed
    resource: _Hashed


class _Source(TypedDict):
    run_id: str
    run_manifest: _Hashed
    benchmark: _Hashed
    benchmark_schema_version: str
    oracle: _Oracle | None


class _Identity(TypedDict):
    source: str
    model: str
    revision: str | None
    weights_digest: str | None


class _Api(TypedDict):
    base_url: str
    api_key_env: str


class _Candidate(TypedDict):
    alias: str
    model: str
    provider: str
    provider_api_version: str
    api: _Api
    model_identity: _Identity
    inference: dict[str, Json]
    canonical_id: str
    assurance: Assurance


class _Publication(TypedDict):
    requested: bool


class _Modes(TypedDict):
    modes: list[Mode]


class _Payload(TypedDict):
    schema_version: str
    source: _Source
    eval: _Modes
    held_out_eval: dict[str, Json] | None
    scoring: dict[str, Json]
    limits: dict[str, Json]
    repeats: dict[str, Json]
    candidates: list[_Candidate]
    contamination: dict[str, Json]
    publication: _Publication
    outputs: dict[str, Json]


class _Paths(TypedDict):
    eval_config: str
    source_run_manifest: str
    benchmark: str
    scoring_contract: str
    pack_manifest: str | None
    oracle_resource: str | None


def recorded_settings(directory: Path, whereabouts: Whereabouts | None = None) -> EvalSettings:
    """The settings that a directory was made under.

    What they are made of gives the payload again to the last byte, so nothing of it was passed over.
    Raises: EvalError `eval_artifact_invalid` for a document that is absent, or is none of an evaluation.
    """
    path = directory / FILE
    document = read_document(path)
    if document is None:
        raise EvalError(unusable(path, "is gone; expected the configuration that the results were made with"))
    payload, paths = document.get("payload"), document.get("resolved_paths")
    if not isinstance(payload, Mapping) or not isinstance(paths, Mapping):
        raise EvalError(unusable(path, "holds neither `payload` nor `resolved_paths`"))
    seen = sha256_json(payload)
    if seen != document.get("eval_config_hash"):
        message = f"`eval_config_hash` is {document.get('eval_config_hash')}, its payload has {seen}"
        raise EvalError(unusable(path, message))
    try:
        settings = _settings(directory, cast("_Payload", payload), cast("_Paths", paths), whereabouts or Whereabouts())
    except (KeyError, TypeError, AttributeError, ValueError):
        settings = None
    if settings is None or canonical_json(settings.hash_payload) != canonical_json(payload):
        raise EvalError(unusable(path, "holds a payload of another shape than this version writes"))
    _check_rest(path, document, paths, settings)
    return settings


def _check_rest(path: Path, document: Mapping[str, Json], paths: Mapping[str, Json], settings: EvalSettings) -> None:
    """Hold what the payload does not hold to what it gives. Raises: EvalError `eval_artifact_invalid`."""
    given = resolved_eval_config(settings)
    places = given["resolved_paths"]
    assert isinstance(places, Mapping)
    strange = sorted(paths.keys() ^ places.keys())
    if strange or not all(one is None or isinstance(one, str) for one in paths.values()):
        listed = f": {', '.join(strange)}" if strange else ""
        raise EvalError(unusable(path, f"holds `resolved_paths` of another shape than this version writes{listed}"))
    wanted = {**given, "resolved_paths": paths}
    parted = first_difference(document, wanted)
    if parted is not None:
        raise EvalError(unusable(path, f"{parted.path} is {parted.left}; the payload gives {parted.right}"))
    if path.read_bytes() != readable_json(wanted):
        raise EvalError(unusable(path, "says what the payload gives, but not in the same bytes"))


# The payload that these fields give is held against the one that was read, so that no wrong type gets by.


def _settings(directory: Path, payload: _Payload, paths: _Paths, where: Whereabouts) -> EvalSettings:
    scoring = _scoring(payload["scoring"], Path(paths["scoring_contract"]))
    named = payload["source"]["oracle"]
    declared = Declared(
        version=payload["schema_version"],
        source=_source(payload["source"], paths, where),
        oracle=_oracle(payload["source"], paths, where),
        oracle_hashes=None
        if named is None
        else (Digest(named["pack_manifest"]["content_hash"]), Digest(named["resource"]["content_hash"])),
        modes=tuple(payload["eval"]["modes"]),
        scoring=scoring,
        limits=Limits(**payload["limits"]),  # type: ignore[arg-type]
        repeats=Repeats(**payload["repeats"]) if "repeats" in payload else _ONE_TRIAL,  # type: ignore[arg-type]
        candidates=tuple(map(_candidate, payload["candidates"])),
        contamination=Contamination(**payload["contamination"]),  # type: ignore[arg-type]
        outputs=Outputs(output_dir=directory.absolute(), **payload["outputs"]),  # type: ignore[arg-type]
        held_out=_held_out(payload["held_out_eval"]),
    )
    publication = _publication(declared, requested=payload["publication"]["requested"])
    return assembled(Path(paths["eval_config"]), declared, publication)


def _scoring(block: dict[str, Json], contract: Path) -> Scoring:
    fields = {name: value for name, value in block.items() if name != "contract"}
    hashed = cast("_Hashed", block["contract"])
    scoring = Scoring(
        contract=contract,
        contract_hash=Digest(hashed["content_hash"]),
        policy_hash=Digest(""),
        **{"executable_continuation": "gold", **fields},  # type: ignore[arg-type]
    )
    return dataclasses.replace(scoring, policy_hash=sha256_json(scoring_json(scoring)))


def _source(block: _Source, paths: _Paths, where: Whereabouts) -> ClaimedSource:
    """What the run manifest claims; lineage and Gold are read from it, and its digest says that it is the same one."""
    manifest = Path(paths["source_run_manifest"]) if where.run_dir is None else where.run_dir / MANIFEST_FILE
    document = read_document(manifest)
    if document is None:
        raise EvalError(_source_gone(manifest, "is gone; expected the manifest of the published run"))
    wanted = block["run_manifest"]["content_hash"]
    seen = sha256_file(manifest)
    if seen != wanted:
        raise EvalError(_replaced(manifest, document.get("run_id"), block["run_id"]))
    oracle = block["oracle"]
    return ClaimedSource(
        manifest=manifest,
        manifest_hash=Digest(wanted),
        run_id=block["run_id"],
        benchmark=manifest.parent / Path(paths["benchmark"]).name,
        benchmark_hash=Digest(block["benchmark"]["content_hash"]),
        benchmark_schema_version=block["benchmark_schema_version"],
        lineage_policy=str(document["lineage_policy"]),
        gold_eligible=document["gold_eligible"] is True,
        oracle_hash=None if oracle is None else Digest(oracle["resource"]["content_hash"]),
    )


def _replaced(manifest: Path, seen: Json, wanted: str) -> Problem:
    other = "is of the same run, but was edited" if seen == wanted else f"is of run {seen}"
    return dataclasses.replace(
        unusable(manifest, f"{other}; the evaluation was made of run {wanted}"),
        fix="name the directory that holds that run with --run-dir; where `doit generate` has replaced it and no copy "
        "is left, evaluate the new run",
    )


def _source_gone(path: Path, message: str) -> Problem:
    return dataclasses.replace(
        unusable(path, message), fix="name the directory of the published run with --run-dir, or restore it"
    )


def _oracle(block: _Source, paths: _Paths, where: Whereabouts) -> SourceOracle | None:
    named, manifest, resource = block["oracle"], paths["pack_manifest"], paths["oracle_resource"]
    if named is None or manifest is None or resource is None:
        return None
    pack_manifest, code = Path(manifest), Path(resource)
    if where.pack is not None:
        inside = code.relative_to(pack_manifest.parent) if code.is_relative_to(pack_manifest.parent) else code.name
        pack_manifest, code = where.pack / pack_manifest.name, where.pack / inside
    return SourceOracle(kind=named["kind"], pack_manifest=pack_manifest, resource=code)


def _candidate(block: _Candidate) -> Candidate:
    inference = Inference(
        **{"max_tokens_field": "max_tokens", "echo_reasoning": None, **block["inference"]}  # type: ignore[arg-type]
    )
    return Candidate(
        alias=block["alias"],
        model=block["model"],
        provider=block["provider"],
        provider_api_version=block["provider_api_version"],
        base_url=block["api"]["base_url"],
        api_key_env=block["api"]["api_key_env"],
        identity=Identity(**block["model_identity"]),
        canonical_id=block["canonical_id"],
        assurance=block["assurance"],
        inference=inference,
        inference_parameters_hash=sha256_json(inference_json(inference)),
    )


def _held_out(block: dict[str, Json] | None) -> HeldOutEval | None:
    if block is None:
        return None
    named = {name: tuple(cast("list[str]", block[name])) for name in ("fixture_refs", "template_ids")}
    return HeldOutEval(**{**block, **named})  # type: ignore[arg-type]


def _publication(declared: Declared, *, requested: bool) -> Publication:
    gates = Gates(
        modes=declared.modes,
        gold_eligible=declared.source.gold_eligible,
        scoring=declared.scoring,
        candidates=declared.candidates,
        contamination=declared.contamination,
        outputs=declared.outputs,
    )
    reasons = sorted([one.reason for one in weaknesses(gates)] + ([] if requested else ["publication.requested"]))
    return Publication(
        requested=requested,
        allowed=not reasons,
        scope="trace_and_executable" if "executable" in declared.modes else "trace_only",
        reasons=tuple(reasons),
    )
