"""Is this file a scoring configuration, and what does it say? Every fault at once. Rules: evaluation.md §2, §2.1."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import sha256_json
from bfcl.evaluate.settings.assembled import assembled
from bfcl.evaluate.settings.candidates import read_candidates
from bfcl.evaluate.settings.claimed import Claimed, NamedOracle, check_translation, read_claimed, read_oracle
from bfcl.evaluate.settings.hashes import (
    REPEATING,
    Declared,
    by_alias,
    scoring_json,
)
from bfcl.evaluate.settings.model import (
    Candidate,
    ClaimedSource,
    Contamination,
    EvalSettings,
    HeldOutEval,
    Limits,
    Mode,
    Outputs,
    Repeats,
    Scoring,
)
from bfcl.evaluate.settings.output import check_place, check_private, read_outputs, with_hash
from bfcl.evaluate.settings.policies import (
    PATH_INVALID,
    check_support,
    read_contamination,
    read_held_out,
    read_limits,
    read_modes,
    read_repeats,
    read_scoring,
)
from bfcl.evaluate.settings.publishing import Gates, Publication, read_publication
from bfcl.evaluate.settings.reading import Section, open_file

SCHEMA_INVALID: Final = "eval_config_schema_invalid"
VERSIONS: Final = ("1.1", "1.2", "1.3")
_USUAL_VERSION: Final = "1.2"
_FIXES: Final = {
    "repeats": f'write `schema_version: "{REPEATING}"`, or remove it',
    "held_out_eval": "add `held_out_eval` to `eval.mode`, or remove it",
}
"""For keys that only some files have."""
KEYS: Final = (
    "schema_version",
    "config_status",
    "source_run_manifest",
    "source_oracle",
    "translation_manifest",
    "eval",
    "scoring",
    "limits",
    "candidates",
    "contamination",
    "publication",
    "outputs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Every section as read. `candidates` are in the order of the file."""

    version: str
    claimed: Claimed | None
    named: NamedOracle | None
    modes: tuple[Mode, ...]
    scoring: Scoring
    limits: Limits
    repeats: Repeats
    candidates: tuple[Candidate, ...]
    contamination: Contamination
    outputs: Outputs
    held_out: HeldOutEval | None


def load_settings(path: Path) -> EvalSettings:
    """Read and check a scoring configuration. Nothing is written and nobody is asked.

    Raises: EvalError with every fault of the file and of what it names, in file order, each with its place;
    `eval_config_schema_invalid` where §2 has no other code.
    """
    reading = open_file(path.absolute(), code=SCHEMA_INVALID, unreadable=PATH_INVALID)
    root = reading.root(_required(reading.raw), fixes=_FIXES)
    root.word("config_status", ("resolved",), fix="copy the template, fill it in, then write `config_status: resolved`")
    check_translation(root)
    read = _read(root)
    publication = read_publication(
        root,
        Gates(
            modes=read.modes,
            gold_eligible=read.claimed is None or read.claimed.source.gold_eligible,
            scoring=read.scoring,
            candidates=read.candidates,
            contamination=read.contamination,
            outputs=read.outputs,
        ),
    )
    check_support(root, read.scoring, read.modes)
    _check_held_out(root, read)
    source = None if read.claimed is None else read.claimed.source
    oracle = None if read.named is None else read.named.oracle
    if not reading.clean or source is None:
        check_place(root, read.outputs.output_dir, source, oracle)
        reading.raise_all()
    assert source is not None
    settings = _settings(reading.path, read, source, publication)
    # Only now: the directory's name may hold the hash.
    check_place(root, settings.outputs.output_dir, source, oracle)
    reading.raise_all()
    return settings


def _required(raw: Mapping[str, Json]) -> tuple[str, ...]:
    """Keys of this file: `repeats` exactly from 1.3 on, `held_out_eval` exactly when its mode is asked for."""
    block = raw.get("eval")
    modes = block.get("mode") if isinstance(block, Mapping) else None
    held_out = isinstance(modes, list | tuple) and "held_out_eval" in modes
    repeats = raw.get("schema_version") == REPEATING
    return (*KEYS, *(["repeats"] if repeats else []), *(["held_out_eval"] if held_out else []))


def _read(root: Section) -> _Read:
    version = root.word("schema_version", VERSIONS, default=_USUAL_VERSION)
    claimed = read_claimed(root)
    modes = read_modes(root.section("eval", ("mode",)))
    return _Read(
        version=version,
        claimed=claimed,
        named=read_oracle(root, claimed, modes),
        modes=modes,
        scoring=read_scoring(root),
        limits=read_limits(root),
        repeats=read_repeats(root),
        candidates=read_candidates(root, version),
        contamination=read_contamination(root),
        outputs=read_outputs(root),
        held_out=read_held_out(root),
    )


def _check_held_out(root: Section, read: _Read) -> None:
    check_private(root, read.outputs, read.held_out)
    if read.held_out is None:
        return
    place = root.at("contamination", "comparison_set")
    if read.contamination.comparison_set != "common_intersection" and not root.reading.is_faulty(place):
        message = "is not `common_intersection`; expected that beside a held-out evaluation"
        root.reading.refuse(place, message, "write `common_intersection`")
    pack = None if read.claimed is None else read.claimed.manifest.get("pack")
    place = root.at("held_out_eval", "pack_version")
    if isinstance(pack, Mapping) and not root.reading.is_faulty(place):
        wanted = pack.get("version")
        if read.held_out.pack_version != wanted:
            message = f"is not the version of the run manifest's pack; expected `{wanted}`"
            root.reading.refuse(place, message, f'write `"{wanted}"`')


def _settings(path: Path, read: _Read, source: ClaimedSource, publication: Publication) -> EvalSettings:
    named = read.named
    scoring = dataclasses.replace(read.scoring, policy_hash=sha256_json(scoring_json(read.scoring)))
    if named is not None:
        source = dataclasses.replace(source, oracle_hash=named.resource_hash)
    declared = Declared(
        version=read.version,
        source=source,
        oracle=None if named is None else named.oracle,
        oracle_hashes=None if named is None else (named.pack_manifest_hash, named.resource_hash),
        modes=read.modes,
        scoring=scoring,
        limits=read.limits,
        repeats=read.repeats,
        candidates=by_alias(read.candidates),
        contamination=read.contamination,
        outputs=read.outputs,
        held_out=read.held_out,
    )
    settings = assembled(path, declared, publication)
    return dataclasses.replace(settings, outputs=with_hash(settings.outputs, settings.eval_config_hash))
