"""Is a file an evaluation's: an envelope, or the scoring configuration in it? Told by its keys, for everyone alike.

Nothing is loaded for it, so that `doit list` may ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bfcl.canonical import Json

ENVELOPE_KEY: Final = "eval_config_path"
EVALUATION_KEYS: Final = (ENVELOPE_KEY, "eval")
"""Keys of an evaluation that people also write into a configuration of generation, where nothing honours them."""
GENERATION_ONLY: Final = frozenset({"oracle_pack", "task_generation"})
"""Keys by which a configuration of generation is known, which is what people name by mistake."""
SCORING_ONLY: Final = frozenset(
    {
        "source_run_manifest",
        "source_oracle",
        "translation_manifest",
        "scoring",
        "limits",
        "candidates",
        "contamination",
        "publication",
        "outputs",
    }
)
"""Keys that only a scoring configuration has."""


def of_evaluation(raw: Mapping[str, Json]) -> bool:
    """Whether a file is meant for an evaluation, which makes no run, however little else it says."""
    return is_scoring_configuration(raw) or is_envelope(raw)


def is_envelope(raw: Mapping[str, Json]) -> bool:
    """Whether a file is meant as the envelope around a scoring configuration."""
    meant = raw.get(ENVELOPE_KEY) is not None or raw.get("stage") == "eval"
    return meant and GENERATION_ONLY.isdisjoint(raw)


def is_scoring_configuration(raw: Mapping[str, Json]) -> bool:
    """Whether a file is meant as a scoring configuration and not as an envelope around one."""
    return ENVELOPE_KEY not in raw and not SCORING_ONLY.isdisjoint(raw)
