"""Where do the results of an evaluation go, and may they? Rules: evaluation.md §2, §17.12."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Final

from bfcl.config.paths import is_within
from bfcl.digest import Digest
from bfcl.evaluate.settings.model import ClaimedSource, HeldOutEval, Outputs, SourceOracle
from bfcl.evaluate.settings.policies import PATH_INVALID
from bfcl.evaluate.settings.reading import Section
from bfcl.stages.artifacts import MANIFEST_FILE, PUBLISHED_FILE, RAW_FILE

HASH_FIELD: Final = "{eval_config_hash}"
_SHORT: Final = 16
_FLAGS: Final = ("write_task_results", "write_eval_manifest", "cache_candidate_responses", "cache_tool_results")
_PRIVATE: Final = ("write_task_results", "cache_candidate_responses", "cache_tool_results")
"""What would write private tasks down."""
_ELSEWHERE: Final = "choose a directory of its own, like `../build/eval/mine-{eval_config_hash}`"


def read_outputs(root: Section) -> Outputs:
    """The section, `{eval_config_hash}` in the directory not yet filled in (see `with_hash`)."""
    block = root.section("outputs", ("output_dir", *_FLAGS))
    name = block.text("output_dir")
    if "{" in name.replace(HASH_FIELD, "") or "}" in name.replace(HASH_FIELD, ""):
        block.wrong("output_dir", f"no braces but those of `{HASH_FIELD}`", f"write `{HASH_FIELD}` or remove them")
    return Outputs(
        output_dir=block.reading.resolved(name),
        write_task_results=block.flag("write_task_results"),
        write_eval_manifest=block.flag("write_eval_manifest"),
        cache_candidate_responses=block.flag("cache_candidate_responses"),
        cache_tool_results=block.flag("cache_tool_results"),
    )


def with_hash(outputs: Outputs, eval_config_hash: Digest) -> Outputs:
    """The section with the first 16 hex digits of the hash in place of `{eval_config_hash}`."""
    short = eval_config_hash.removeprefix("sha256:")[:_SHORT]
    return dataclasses.replace(outputs, output_dir=Path(str(outputs.output_dir).replace(HASH_FIELD, short)))


def check_place(root: Section, output_dir: Path, source: ClaimedSource | None, oracle: SourceOracle | None) -> None:
    """Note `eval_config_path_invalid` where results would mix with what they are about."""
    pointer = root.at("outputs", "output_dir")
    if not root.has("outputs") or root.reading.is_faulty(pointer):
        return
    fault = _fault(output_dir, source, oracle)
    if fault is not None:
        root.reading.refuse(pointer, fault, _ELSEWHERE, code=PATH_INVALID)


def _fault(output_dir: Path, source: ClaimedSource | None, oracle: SourceOracle | None) -> str | None:
    real = Path(os.path.realpath(output_dir))
    if os.path.lexists(real) and not real.is_dir():
        return "names a file; expected a directory, which need not be there yet"
    trees = {} if source is None else {"the published benchmark": source.manifest.parent}
    if oracle is not None:
        trees["the pack"] = oracle.pack_manifest.parent
    for name, path in trees.items():
        tree = Path(os.path.realpath(path))
        if is_within(real, tree):
            return f"lies in the directory of {name}; expected another, where it changes nothing"
        if is_within(tree, real):
            return f"contains the directory of {name}; expected another, where it changes nothing"
    held = [name for name in (MANIFEST_FILE, PUBLISHED_FILE, RAW_FILE) if os.path.lexists(real / name)]
    return f"holds `{held[0]}`; expected no directory of a published benchmark" if held else None


def check_private(root: Section, outputs: Outputs, held_out: HeldOutEval | None) -> None:
    """Note every output that would let a private task out."""
    if held_out is None or not root.has("outputs"):
        return
    for key in _PRIVATE:
        if getattr(outputs, key) and not root.reading.is_faulty(root.at("outputs", key)):
            message = "is true; expected false, as a held-out evaluation writes no private task down"
            root.reading.refuse(root.at("outputs", key), message, "set it to false, or evaluate held-out tasks apart")
