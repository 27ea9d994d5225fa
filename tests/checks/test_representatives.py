"""The first instance of a template on its way through the stages."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.representatives import Setup, asks_oracle, compile_first, represent, set_up, trace_first
from bfcl.pack.load import load_pack
from tests.checks.plain_oracle import PlainOracle
from tests.packs import ALL_POLICIES, Edit, put, put_template, run_config, text, write_pack

DEPENDENT = "last_firing"


def arranged(tmp_path: Path, *edits: Edit) -> Setup:
    run = run_config(write_pack(tmp_path / "pack", *edits, templates=ALL_POLICIES))
    return set_up(load_pack(run, project=tmp_path), run, "en")


def number(template: str) -> int:
    return ALL_POLICIES.index(template)


def oracle(setup: Setup) -> PlainOracle:
    return PlainOracle(setup.pack, "2026-03-02T09:00:00+07:00")


def test_only_a_dependent_call_asks_the_oracle(tmp_path: Path) -> None:
    setup = arranged(tmp_path)
    asking = []
    for index, template in enumerate(setup.pack.templates):
        first, faults = compile_first(setup, index, worded=True)
        assert (first is not None, faults) == (True, [])
        if first is not None and asks_oracle(setup, first):
            asking.append(template.template_id)
    assert asking == [DEPENDENT]


def test_representative_of_a_dependent_call_has_what_the_oracle_answered(tmp_path: Path) -> None:
    setup = arranged(tmp_path)
    representative, faults = represent(setup, number(DEPENDENT), oracle(setup), worded=True)
    assert faults == []
    assert representative is not None
    assert representative.schema.valid
    assert str(representative.trace.calls[1].arguments["firing_id"]).startswith("F-")


def test_plan_of_a_dependent_call_at_fault_is_told_without_an_oracle(tmp_path: Path) -> None:
    path = ("assistant_milestones", 1, "args", "firing_id", "from_result", "call")
    setup = arranged(tmp_path, put_template(DEPENDENT, path, "nobody"))
    first, _ = compile_first(setup, number(DEPENDENT), worded=False)
    assert first is not None
    assert not asks_oracle(setup, first)
    representative, faults = trace_first(setup, first, None)
    assert representative is None
    assert [one.code for one in faults] == ["dependent_call_binding_failed"]


def test_faults_of_wording_come_before_those_of_the_trace_and_keep_them(tmp_path: Path) -> None:
    setup = arranged(
        tmp_path,
        put_template("start_confirmed", ("user_turn_templates", "en"), "Fire it."),
        put_template("start_confirmed", ("assistant_milestones", 1, "args", "atmosphere"), "steam"),
    )
    told = represent(setup, number("start_confirmed"), oracle(setup), worded=True)
    assert told.representative is None
    codes = [one.code for one in told.faults]
    assert codes[-1] == "trace_schema_violation"
    assert set(codes[:-1]) == {"surface_guard_violation"}


@pytest.mark.parametrize(("worded", "codes"), [(True, ["surface_guard_violation"]), (False, [])])
def test_unworded_template_is_not_rendered(tmp_path: Path, worded: bool, codes: list[str]) -> None:
    setup = arranged(tmp_path, put_template("kiln_status", ("user_turn_templates", "en"), "Is it free?"))
    compiled = compile_first(setup, number("kiln_status"), worded=worded)
    assert [one.code for one in compiled.faults] == codes
    assert compiled.first is not None


def test_template_that_does_not_expand_has_no_first_instance(tmp_path: Path) -> None:
    setup = arranged(tmp_path, put_template("kiln_status", ("slots", "kiln_id", "filter"), 'zone == "moon"'))
    first, faults = compile_first(setup, number("kiln_status"), worded=True)
    assert first is None
    assert [(one.code, one.template_id, one.detail) for one in faults] == [
        ("filter_matches_zero", "kiln_status", "filter_matches_zero")
    ]


def test_reserved_template_draws_the_reserved_rows_and_the_others_do_not(tmp_path: Path) -> None:
    setup = arranged(
        tmp_path,
        put("manifest.yaml", ("held_out",), "held_out.yaml"),
        text("held_out.yaml", "version: '1'\nfixtures: {kilns: [K-1]}\ntemplates: [kiln_and_firing]\n"),
    )
    free, reserved = (setup.pack.templates[number(name)] for name in ("kiln_status", "kiln_and_firing"))
    assert setup.sources_for(free) is setup.sources
    assert setup.sources_for(reserved) is setup.reserved_sources
    refs = setup.sources.resolve("fixture:kilns.kiln_id", None).candidates.refs
    assert refs is not None
    assert "kilns:K-1" not in refs
