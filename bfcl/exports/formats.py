"""Which formats can a run export? Rule: generation.md §7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bfcl.exports import bfcl_json, hugging_face, inspect_ai, nemo_evaluator_bundle, openai_chat_jsonl
from bfcl.exports.format import Format

_ALL = (
    bfcl_json.FORMAT,
    hugging_face.FORMAT,
    inspect_ai.FORMAT,
    nemo_evaluator_bundle.FORMAT,
    openai_chat_jsonl.FORMAT,
)

FORMATS: Final[Mapping[str, Format]] = {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
"""Every format by its name, in name order."""
