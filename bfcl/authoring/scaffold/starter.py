"""Which files make a starter pack, byte for byte? Rule: authoring.md §3.

Each file is a template below `files/`; `<<name>>` stands for a value. Same order, same bytes: no time, no chance, no
absolute path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.authoring.scaffold.order import StarterOrder, Transport
from bfcl.authoring.scaffold.wording import Words, words_for
from bfcl.checks.review_markers import REVIEW_MARKER
from bfcl.pack.schema_files import modeline

CLOCK: Final = "2026-01-01T00:00:00+00:00"

_FILES: Final = Path(__file__).parent / "files"
_PLACE: Final = re.compile(r"<<([a-z_]+)>>")
_SHARED: Final = (
    "README.md",
    "assertions.py",
    "fixtures.json",
    "manifest.yaml",
    "task_templates.yaml",
    "tools.json",
    "validate.yaml",
    "validation_cases.yaml",
)
_ORACLES: Final[Mapping[Transport, str]] = {"python": "backend.py", "endpoint": "endpoint_config.yaml"}
_SCHEMAS: Final = {
    "modeline_manifest": "manifest",
    "modeline_templates": "task_templates",
    "modeline_validation_cases": "validation_cases",
    "modeline_held_out": "held_out",
    "modeline_endpoint": "endpoint_config",
    "modeline_run_config": "run_config",
}
# YAML 1.1 or our own reader would take these for something other than text.
_YAML_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_LONGEST_NAME: Final = 240
"""Bytes of a directory's name that still leave room for a suffix."""
_MARKS: Final = ("REPLACE_ME_", REVIEW_MARKER.decode())
"""Words that no finished configuration and no reviewed pack may hold, so a directory's name must not bring them in."""

_PHRASES: Final[Mapping[Transport, Mapping[str, str]]] = {
    "python": {
        "oracle_path": "  backend: backend.py",
        "what_answers": "an executable oracle",
        "what_works": "It is Gold as it stands: one tool, one invented record, three conversations.",
        "oracle_row": "| `backend.py` | the executable oracle, four functions |",
        "oracle_step": "`backend.py`: one answer per tool, with refusals as results.",
        "generate_note": "It executes every expected call twice and publishes below the `output_dir` of "
        "`validate.yaml`. Rows of this trial are\nmarked as not Gold; a release takes a configuration of its own with "
        "`lineage.policy: strict_separation`.",
    },
    "endpoint": {
        "oracle_path": "  endpoint: endpoint_config.yaml",
        "what_answers": "the address of the service that answers them",
        "what_works": "It loads and is checked as it stands, but cannot reach Gold: the service has yet to be "
        "connected.",
        "oracle_row": "| `endpoint_config.yaml` | where the oracle answers, who it is, what may be sent |",
        "oracle_step": "`endpoint_config.yaml`: connect the service, as told below.",
        "generate_note": "It needs a Gold pack. Until the service is connected and attested, it is refused with "
        "`non_gold_pack`.",
    },
}


def starter_files(order: StarterOrder, directory: str) -> dict[str, bytes]:
    """File name to content, sorted by name. `directory` is the name of the directory the pack will lie in."""
    words = words_for(order.language)
    values = {
        **{place: modeline(schema) for place, schema in _SCHEMAS.items()},
        **{name: quoted(text) for name, text in words.texts.items()},
        **_PHRASES[order.transport],
        **_language_values(order, words),
        **_held_out_values(order),
        "clock": CLOCK,
        "pack_id": scalar(order.pack_id),
        "version": quoted(order.version),
        "bare_pack_id": order.pack_id,
        "expt_name": f"bfcl_{order.pack_id}_starter",
        "token_env": f"{order.pack_id.upper()}_ORACLE_TOKEN",
        "output_dir": quoted(f"../{_plain_name(directory, order.pack_id)}_output"),
    }
    values["oracle_section"] = _filled(f"oracle_{order.transport}.md", values)
    names = [*_SHARED, _ORACLES[order.transport], *(["held_out.yaml"] if order.held_out else [])]
    return {name: _filled(name, values).encode() for name in sorted(names)}


def _language_values(order: StarterOrder, words: Words) -> dict[str, str]:
    note = f"# Still English: translate the texts under `{order.language}`.\n"
    told = (
        f"\n**The conversations are still English.** For `{order.language}`, the language of this pack, the starter "
        "has no texts:\ntranslate the system prompt and every text under that key in `manifest.yaml` and "
        "`task_templates.yaml`.\n"
    )
    return {
        "language": scalar(order.language),
        "system_prompt": "\n".join(f"  {line}" for line in words.system_prompt),
        "english_note": "" if words.fitting else note,
        "language_note": "" if words.fitting else told,
    }


def _held_out_values(order: StarterOrder) -> dict[str, str]:
    if not order.held_out:
        return {"held_out_key": "", "held_out_row": "", "reserved_row": ""}
    key = "\n# Rows and templates that no published task may touch.\nheld_out: held_out.yaml\n"
    row = "| `held_out.yaml` | rows and templates kept back from publication |\n"
    reserved = ',\n    {"record_id": "REC-HELD-OUT-1", "name": "Reserved record", "status": "active"}'
    return {"held_out_key": key, "held_out_row": row, "reserved_row": reserved}


def _filled(name: str, values: Mapping[str, str]) -> str:
    """A template with its places filled, in one pass. Raises KeyError for a place that nothing fills."""
    template = (_FILES / f"{name}.tmpl").read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: values[found.group(1)], template)


def quoted(text: str) -> str:
    """Text as a quoted YAML scalar on one line."""
    return json.dumps(text, ensure_ascii=False)


def scalar(word: str) -> str:
    """A word of letters, digits, `-` and `_` as YAML text, quoted where a reader would take it for another type."""
    return quoted(word) if word.casefold() in _YAML_WORDS else word


def _plain_name(directory: str, pack_id: str) -> str:
    """The directory's name where a configuration can carry it with a suffix, else the pack's."""
    fits = directory.isprintable() and len(directory.encode()) <= _LONGEST_NAME
    return directory if fits and not any(mark in directory for mark in _MARKS) else pack_id
