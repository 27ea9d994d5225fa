"""What do declared sections come to, with their hashes? The same, whether they were read anew or from a record."""

from __future__ import annotations

from pathlib import Path

from bfcl.digest import sha256_json
from bfcl.evaluate.settings.hashes import Declared, hash_payload, measurement_payload
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.publishing import Publication


def assembled(path: Path, declared: Declared, publication: Publication) -> EvalSettings:
    """The settings of the file at `path`. Rule: evaluation.md §1."""
    payload = hash_payload(declared, publication)
    return EvalSettings(
        path=path,
        schema_version=declared.version,
        source=declared.source,
        oracle=declared.oracle,
        modes=declared.modes,
        scoring=declared.scoring,
        limits=declared.limits,
        repeats=declared.repeats,
        candidates=declared.candidates,
        contamination=declared.contamination,
        publication_requested=publication.requested,
        outputs=declared.outputs,
        held_out=declared.held_out,
        publication_allowed=publication.allowed,
        publication_scope=publication.scope,
        non_publication_reasons=publication.reasons,
        hash_payload=payload,
        eval_config_hash=sha256_json(payload),
        measurement_hash=sha256_json(measurement_payload(payload)),
    )
