"""Which reference samples accompany a run, and what profile do they yield? Rule: generation.md §3, stage 3.

Without a profile model the profile is disabled: it states what the samples are and hints at nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bfcl.canonical import Json, canonical_text
from bfcl.digest import Digest, sha256_json
from bfcl.tables.codec import Row

PROFILE_VERSION = "1.0"


def profile(samples: Sequence[Mapping[str, Json]] = (), content_hash: Digest | None = None) -> dict[str, Json]:
    """`reference_profile.json` where no model is consulted.

    `samples` are the configuration's checked samples, `content_hash` is the pin of the file they came from; both absent
    without a reference benchmark.
    """
    value: dict[str, Json] = {
        "profile_version": PROFILE_VERSION,
        "enabled": False,
        "status": "disabled",
        "languages": sorted({str(sample["language"]) for sample in samples}),
        "sample_count": len(samples),
        "style_hints": [],
        "avoid": [],
        "reference_content_hash": content_hash,
        "profile_model_canonical": None,
        "prompt_hash": None,
    }
    return {**value, "output_hash": sha256_json(value)}


def sample_rows(samples: Sequence[Mapping[str, Json]]) -> list[Row]:
    """Rows of `reference_samples` in file order. The configuration has checked and normalised the samples."""
    return [{**sample, "messages": canonical_text(sample["messages"])} for sample in samples]
