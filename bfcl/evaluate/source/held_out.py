"""Does the private part of an evaluation ask for exactly what the pack holds out? Rule: evaluation.md §2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.settings.model import EvalSettings, HeldOutEval
from bfcl.evaluate.source.gates import Place, SourceGate, refusal
from bfcl.pack.held_out import CONTRACT_VERSION, policy_hash, reserved_refs
from bfcl.pack.model import HeldOut, Pack

SCHEMA_INVALID: Final = "eval_config_schema_invalid"


def check_held_out(settings: EvalSettings, pack: Pack | None) -> None:
    """Hold the section against the pack's policy.

    Raises: EvalError `eval_config_schema_invalid` with every field that differs.
    """
    if "held_out_eval" not in settings.modes:
        return
    section = settings.held_out
    if section is None or pack is None:
        message = "held_out_eval needs its section and an oracle with a pack; expected both"
        fix = "write `held_out_eval` and `source_oracle`, or leave the mode out"
        place = Place(file=settings.path, field="held_out_eval")
        raise EvalError(refusal(SourceGate.PACK, SCHEMA_INVALID, message, place=place, fix=fix))
    if pack.held_out is None:
        message = "held_out_eval is asked for, and the pack has no held-out policy; expected one in `held_out.yaml`"
        place = Place(file=settings.path, field="held_out_eval")
        fix = "leave the mode out, or evaluate a benchmark whose pack holds something out"
        raise EvalError(refusal(SourceGate.PACK, SCHEMA_INVALID, message, place=place, fix=fix))
    raise_all(EvalError, list(_differences(settings, section, pack, pack.held_out)))


def _differences(settings: EvalSettings, section: HeldOutEval, pack: Pack, policy: HeldOut) -> Iterator[Problem]:
    """Lists are compared as sets: a policy reserves, it does not order."""
    fields: dict[str, tuple[Json, Json]] = {
        "contract_version": (section.contract_version, CONTRACT_VERSION),
        "policy_hash": (section.policy_hash, policy_hash(policy)),
        "fixture_refs": (sorted(section.fixture_refs), sorted(reserved_refs(policy))),
        "template_ids": (sorted(section.template_ids), sorted(policy.templates)),
        "seed": (section.seed, policy.seed),
        "pack_version": (section.pack_version, pack.manifest.version),
    }
    for name, (seen, wanted) in fields.items():
        if seen != wanted:
            message = f"held_out_eval.{name} is {canonical_text(seen)}, the pack's policy has {canonical_text(wanted)}"
            place = Place(file=settings.path, field=f"held_out_eval.{name}")
            yield refusal(
                SourceGate.PACK, SCHEMA_INVALID, message, place=place, fix=f"copy `{name}` from the pack's policy"
            )
