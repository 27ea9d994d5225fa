"""The private section asks for exactly what the pack holds out."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.settings.model import EvalSettings, HeldOutEval
from bfcl.evaluate.source.held_out import check_held_out
from bfcl.evaluate.source.oracle import check_oracle
from bfcl.evaluate.source.verify import verify_source
from bfcl.pack.model import Pack
from bfcl.release.read import open_release
from tests.evaluate.source.builder import Site

GATE = " (gate ten, the oracle's pack)\n  fix: "


def pack_of(site: Site) -> Pack:
    oracle = check_oracle(site.settings(), open_release(site.run_dir))
    assert oracle is not None
    return oracle.pack


def private(site: Site, **edits: Any) -> EvalSettings:
    """Settings whose section equals the policy of the pack; `edits` replace its fields."""
    good: dict[str, Any] = {
        "contract_version": "1.0",
        "policy_hash": site.manifest()["held_out"].get("policy", {}).get("policy_hash"),
        "fixture_refs": ('["kilns","K-8"]',),
        "template_ids": (),
        "seed": 5,
        "pack_version": site.manifest()["pack"]["version"],
        "max_tasks_per_template": 2,
    }
    section = HeldOutEval(**{**good, **edits})
    return dataclasses.replace(site.settings(), modes=("held_out_eval",), held_out=section)


def test_check_held_out_asks_nothing_of_other_modes(site: Site) -> None:
    check_held_out(site.settings(), None)


def test_verify_source_passes_a_section_that_is_the_policys(chosen: Site) -> None:
    verified = verify_source(private(chosen), probe_oracle=True)
    assert verified.modes == ("held_out_eval",)
    assert verified.oracle is not None
    assert verified.oracle.probed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("contract_version", "2.0"),
        ("policy_hash", sha256_of(b"other")),
        ("fixture_refs", ("[]",)),
        ("template_ids", ("other",)),
        ("seed", 6),
        ("pack_version", "0"),
    ],
)
def test_check_held_out_names_the_field_that_is_not_the_policys(field: str, value: Any, chosen: Site) -> None:
    wanted, pack = getattr(private(chosen).held_out, field), pack_of(chosen)
    settings = private(chosen, **{field: value})
    seen, expected = (json.dumps(one, separators=(",", ":")) for one in (value, wanted))
    assert chosen.told(lambda: check_held_out(settings, pack)) == [
        f"eval.yaml: eval_config_schema_invalid: held_out_eval.{field} is {seen}, the pack's policy has {expected}"
        f"{GATE}copy `{field}` from the pack's policy"
    ]


def test_check_held_out_refuses_a_pack_without_a_policy(site: Site) -> None:
    settings, pack = private(site), pack_of(site)
    assert site.told(lambda: check_held_out(settings, pack)) == [
        "eval.yaml: eval_config_schema_invalid: held_out_eval is asked for, and the pack has no held-out policy; "
        f"expected one in `held_out.yaml`{GATE}leave the mode out, or evaluate a benchmark whose pack holds "
        "something out"
    ]


def test_check_held_out_refuses_a_section_without_a_pack(chosen: Site) -> None:
    settings = private(chosen)
    assert chosen.told(lambda: check_held_out(settings, None)) == [
        "eval.yaml: eval_config_schema_invalid: held_out_eval needs its section and an oracle with a pack; expected "
        f"both{GATE}write `held_out_eval` and `source_oracle`, or leave the mode out"
    ]
