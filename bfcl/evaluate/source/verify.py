"""May this benchmark be measured on, before anybody is asked anything? Rule: evaluation.md §3, gates 3-14."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.exposures import read_exposures
from bfcl.evaluate.source.gates import Place, SourceGate, refusal
from bfcl.evaluate.source.held_out import check_held_out
from bfcl.evaluate.source.oracle import RESOURCE_MISMATCH, check_oracle, probe
from bfcl.evaluate.source.published import open_source
from bfcl.evaluate.source.tables import Tables, read_tables
from bfcl.evaluate.source.verified import CheckedOracle, VerifiedSource, verified_source
from bfcl.release.read import Release
from bfcl.stages.artifacts import MANIFEST_FILE

UNAUTHORIZED: Final = "eval_executable_unauthorized"
LINEAGE_INVALID: Final = "eval_source_translation_lineage_invalid"

_SMOKE: Final = "smoke_no_publication"
_IDS_SHOWN: Final = 3


def verify_source(settings: EvalSettings, *, probe_oracle: bool) -> VerifiedSource:
    """Pass a published benchmark through its gates, in order; each stops at its own failures, all of them told.

    No request is sent, no file written, no code of a pack imported in this process.
    Raises: EvalError with the code of the gate that refused.
    """
    opened = open_source(settings.source)
    release = opened.release
    tables = read_tables(release, settings.source)
    oracle = _oracle(settings, release, probe_oracle=probe_oracle)
    check_held_out(settings, None if oracle is None else oracle.pack)
    raise_all(EvalError, list(_gold_problems(settings, release, tables)))
    raise_all(EvalError, list(_translation_problems(settings)))
    exposures = read_exposures(release.manifest, tables.rows, release.run_dir / MANIFEST_FILE)
    return verified_source(settings, release, opened.manifest_hash, tables, (oracle, exposures))


def _oracle(settings: EvalSettings, release: Release, *, probe_oracle: bool) -> CheckedOracle | None:
    oracle = check_oracle(settings, release)
    if oracle is not None and probe_oracle:
        probe(oracle)
        return dataclasses.replace(oracle, probed=True)
    if settings.needs_oracle:
        unprobed = sorted(mode for mode in settings.modes if mode != "trace")
        lacking = "probe_oracle is false" if oracle is not None else "source_oracle is null"
        message = f"{lacking} with mode {', '.join(unprobed)}; expected an oracle that was probed"
        fix = "set `probe_oracle: true` and name the pack, or evaluate with `mode: [trace]`"
        place = Place(file=settings.path, field="source_oracle" if oracle is None else None)
        raise EvalError(refusal(SourceGate.PROBE, RESOURCE_MISMATCH, message, place=place, fix=fix))
    return oracle


def _gold_problems(settings: EvalSettings, release: Release, tables: Tables) -> Iterator[Problem]:
    """Executable modes measure on Gold rows of a Gold release only."""
    if not settings.needs_oracle:
        return
    others = [row.task_id for row in tables.rows if not row.published["gold_eligible"]]
    listed = ", ".join(f"`{task_id}`" for task_id in others[:_IDS_SHOWN])
    more = ", ..." if len(others) > _IDS_SHOWN else ""
    rows = f"{len(others)} of {len(tables.rows)} rows ({listed}{more})" if others else "no row"
    if release.manifest["gold_eligible"] is not True:
        reasons = [str(one) for one in _listed(release.manifest["gold_ineligibility_reasons"])]
        message = (
            f"gold_eligible is false ({', '.join(reasons)}), as in {rows}; expected a Gold benchmark for an "
            "executable mode"
        )
        place = Place(file=release.run_dir / MANIFEST_FILE, field="gold_eligible")
        yield refusal(SourceGate.GOLD, UNAUTHORIZED, message, place=place, fix=_to_gold(reasons))
    elif others:
        message = f"gold_eligible is false in {rows} and true in {MANIFEST_FILE}; expected true in each row"
        place = Place(file=release.path("published"), field="gold_eligible")
        yield refusal(SourceGate.GOLD, UNAUTHORIZED, message, place=place)


def _to_gold(reasons: Sequence[str]) -> str:
    """How a release gets to be Gold. A policy is an edit away, other reasons are explained by their code."""
    edits = []
    if _SMOKE in reasons:
        edits.append("write `lineage: {policy: strict_separation}` in the generation configuration")
    edits += [f"mend what `bfcl explain {one}` tells of" for one in reasons if one != _SMOKE]
    steps = [*edits, "run `doit generate` again"] if edits else ["evaluate a run that is Gold"]
    return f"{', '.join(steps)}; or evaluate with `mode: [trace]`"


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else ()


def _translation_problems(settings: EvalSettings) -> Iterator[Problem]:
    """A localised release's lineage is not verified by this version, so that none passes."""
    source = settings.hash_payload.get("source")
    named = source.get("translation_manifest") if isinstance(source, Mapping) else None
    if named is not None:
        message = "translation_manifest names a localised benchmark; expected null: none is supported yet"
        place = Place(file=settings.path, field="translation_manifest")
        fix = "write `translation_manifest: null`"
        yield refusal(SourceGate.TRANSLATION, LINEAGE_INVALID, message, place=place, fix=fix)
