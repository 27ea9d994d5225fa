"""The normalised copies that later stages and readers take instead of pack files. Rule: pack.md §1."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import Json, readable_json
from bfcl.errors import PackError
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.held_out import policy_json
from bfcl.pack.model import Case, Pack
from bfcl.pack.slots import parse_source
from bfcl.pack.templates import template_json


def normalised(pack: Pack) -> Mapping[str, bytes]:
    """File name to bytes of each copy: sorted keys, no absolute paths, equal bytes for equal packs.

    The `.yaml` files hold JSON, which is YAML in its flow style: every YAML reader types their scalars alike.
    """
    copies = {
        "pack_manifest.json": readable_json(pack.manifest.values),
        "pack_paths.json": readable_json(
            {role: {"path": file.logical, "origin": file.origin} for role, file in pack.files.items()}
        ),
        "tools_normalized.json": readable_json([tool.model_facing() for tool in pack.tools]),
        "tools_normalized_internal.json": readable_json([tool.internal() for tool in pack.tools]),
        "fixtures_normalized.json": readable_json({"fixtures": pack.fixtures, "primary_keys": primary_keys(pack)}),
        "task_templates_normalized.yaml": readable_json([template_json(one) for one in pack.templates]),
        "validation_cases_normalized.yaml": readable_json([_case(case) for case in pack.cases]),
    }
    if pack.held_out is not None:
        copies["held_out_normalized.json"] = readable_json(policy_json(pack.held_out))
    return copies


def primary_keys(pack: Pack) -> dict[str, str]:
    """The primary key of each collection that a `fixture:` source or a reservation names.

    One at fault is left out: see check 2.
    """
    found = {}
    for name in sorted(_used_collections(pack)):
        rows = collection_rows(pack.fixtures, name)
        if rows is None:
            continue
        try:
            found[name] = primary_key(name, rows, pack.manifest)
        except PackError:
            continue
    return found


def _used_collections(pack: Pack) -> set[str]:
    texts = {slot.source for template in pack.templates for slot in template.slots.values()}
    for template in pack.templates:
        for turn in template.user_simulator_turns:
            texts |= {update.source for update in turn.slot_updates}
    used = set(pack.held_out.fixtures) if pack.held_out is not None else set()
    for text in texts:
        try:
            source = parse_source(text)
        except PackError:
            continue
        if source.kind == "fixture" and source.collection is not None:
            used.add(source.collection)
    return used


def _case(case: Case) -> dict[str, Json]:
    return {
        "id": case.id,
        "tool": case.tool,
        "arguments": case.arguments,
        "reset_before": case.reset_before,
        "expect": case.expect,
        "coverage": case.coverage,
    }
