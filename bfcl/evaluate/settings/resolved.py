"""What does an output directory say about the configuration it was made with? Rule: evaluation.md §2.1."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bfcl.canonical import Json, readable_json
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.files import write_atomic

FILE: Final = "resolved_eval_config.json"
RESUME_FROM: Final = "resume_from"


def resolved_eval_config(settings: EvalSettings, *, resume_from: Path | None = None) -> dict[str, Json]:
    """The document: hashes, what they are of, what may be published; `resolved_paths` are in no hash."""
    oracle = settings.oracle
    return {
        "eval_config_hash": settings.eval_config_hash,
        "measurement_hash": settings.measurement_hash,
        "payload": settings.hash_payload,
        "publication_allowed": settings.publication_allowed,
        "publication_scope": settings.publication_scope,
        "non_publication_reasons": list(settings.non_publication_reasons),
        "candidate_aliases": [candidate.alias for candidate in settings.candidates],
        "resolved_paths": {
            "eval_config": str(settings.path),
            "source_run_manifest": str(settings.source.manifest),
            "benchmark": str(settings.source.benchmark),
            "scoring_contract": str(settings.scoring.contract),
            "pack_manifest": None if oracle is None else str(oracle.pack_manifest),
            "oracle_resource": None if oracle is None else str(oracle.resource),
            "output_dir": str(settings.outputs.output_dir),
            RESUME_FROM: None if resume_from is None else str(resume_from),
        },
    }


def write_resolved(settings: EvalSettings, *, resume_from: Path | None = None) -> Path:
    """Write the document into the output directory, which has to be there; returns its path."""
    path = settings.outputs.output_dir / FILE
    write_atomic(path, readable_json(resolved_eval_config(settings, resume_from=resume_from)))
    return path
