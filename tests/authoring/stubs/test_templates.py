"""New templates: valid at once, or refused with what the pack lacks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bfcl.authoring.preview import Wanted, preview
from bfcl.authoring.stubs.append import appended_yaml
from bfcl.authoring.stubs.templates import POLICIES, NewTemplate, new_template
from bfcl.authoring.workbench import workbench
from bfcl.errors import ConfigError
from bfcl.pack.model import Pack
from bfcl.pack.own_config import load_own
from tests.packs import ALL_POLICIES, FIXTURES, TEMPLATES, drop, held_out, put, put_template, write_pack


def load(root: Path) -> Pack:
    return load_own(root).pack


def test_a_stub_of_every_policy_would_be_published_as_it_is(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", templates=ALL_POLICIES)
    pack = load(root)
    policies = [policy for policy in POLICIES if policy != "dependent_call"]
    # Nothing in the pack calls one tool twice, so nobody's assertion is sure to hold for that.
    named = {"multi_tool": ("assert_kiln_read",)}
    entries = [
        new_template(pack, NewTemplate(template_id=f"new_{policy}", policy=policy, assertions=named.get(policy, ())))
        for policy in policies
    ]
    path = root / "task_templates.yaml"
    path.write_bytes(appended_yaml(path.read_bytes(), entries, "task_templates.yaml"))
    with workbench(root) as bench:
        shown = preview(bench, Wanted(templates=tuple(f"new_{policy}" for policy in policies), count=1))
    assert [one.template.template_id for one in shown if not one.good] == []
    assert len(shown) == len(policies)


def test_stub_takes_source_category_and_assertions_from_the_likest_template(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack", templates=ALL_POLICIES))
    entry = new_template(pack, NewTemplate(template_id="again", policy="confirmation"))
    assert entry["category"] == "firings"
    assert entry["success_assertions"] == ["assert_started_as_asked", "assert_kiln_busy"]
    assert entry["slots"] == {
        "kiln_id": {"source": "fixture:kilns.kiln_id", "filter": 'status == "idle"', "visible_in_first_turn": True},
        "cone": {"source": "range:{min: 4, max: 5}", "visible_in_first_turn": True},
    }
    assert entry["mutates"] is True


def refusal(pack: Pack, wanted: NewTemplate) -> str:
    with pytest.raises(ConfigError) as caught:
        new_template(pack, wanted)
    return str(caught.value)


SINGLE = NewTemplate(template_id="one", policy="single_turn")


def test_stub_of_an_id_in_use_is_refused(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack"))
    assert refusal(pack, dataclasses.replace(SINGLE, template_id="kiln_status")) == (
        "stub_impossible: kiln_status: the pack has a template of this id already\n  fix: choose another id"
    )


def test_stub_for_an_unknown_tool_is_refused_with_the_closest(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack"))
    assert refusal(pack, dataclasses.replace(SINGLE, tool="get_klin")) == (
        "stub_impossible: one: the catalog has no tool `get_klin`\n  fix: did you mean `get_kiln`?"
    )


def test_stub_of_a_negative_path_needs_absent_ids(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack", drop("manifest.yaml", ["absent_ids"])))
    assert refusal(pack, NewTemplate(template_id="one", policy="negative_path")) == (
        "stub_impossible: one: `negative_path`: no parameter of the tool takes the key of a collection with absent "
        "ids\n"
        "  fix: declare `absent_ids.<collection>` in manifest.yaml for the collection whose key the tool takes"
    )


def test_stub_without_a_template_to_take_assertions_from_is_refused(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack", templates=["out_of_scope"]))
    assert refusal(pack, SINGLE) == (
        "stub_impossible: one: `single_turn`: no template like it names an assertion to use\n"
        "  fix: name one with `--assertion`, or write one with `bfcl new assertion`"
    )
    named = new_template(pack, dataclasses.replace(SINGLE, assertions=("assert_kiln_read",)))
    assert named["success_assertions"] == ["assert_kiln_read"]


def test_stub_of_a_confirmation_refuses_a_tool_that_needs_none(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack"))
    assert refusal(pack, NewTemplate(template_id="one", policy="confirmation", tool="get_kiln")) == (
        "stub_impossible: one: `confirmation`: `get_kiln` does not declare `x-requires-confirmation`\n"
        "  fix: name a gated tool"
    )


def test_stub_of_a_dependent_call_is_refused_with_the_way_to_write_it(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack"))
    assert refusal(pack, NewTemplate(template_id="one", policy="dependent_call")) == (
        "stub_impossible: one: `dependent_call`: which field of a result the second call needs cannot be read from the "
        "pack\n  fix: start from `single_turn`, then add `args.<parameter>: {from_result: {call: <milestone id>, path: "
        "<field>}}`"
    )


def test_stub_speaks_the_language_of_the_pack(tmp_path: Path) -> None:
    pack = load(write_pack(tmp_path / "pack", put("manifest.yaml", ["default_language"], "en")))
    assert new_template(pack, SINGLE)["user_turn_templates"] == {"en": "Please see to this for me: {kiln_id}."}
    other = new_template(pack, dataclasses.replace(SINGLE, language="fi"))
    assert other["user_turn_templates"] == {"fi": "Please see to this for me: {kiln_id}."}


def test_stub_takes_the_filter_of_the_row_that_the_likest_template_shares(tmp_path: Path) -> None:
    slots = {
        "zone": {"source": "kilns.zone", "filter": 'status == "idle"', "visible_in_first_turn": True},
        "kiln_id": {"source": "kilns.kiln_id", "same_row_as": "zone", "visible_in_first_turn": True},
        "cone": {"source": "range:{min: 4, max: 5}", "visible_in_first_turn": True},
    }
    pack = load(write_pack(tmp_path / "pack", put_template("start_confirmed", ("slots",), slots)))
    entry = new_template(pack, NewTemplate(template_id="again", policy="confirmation"))
    assert entry["slots"] == {
        "kiln_id": {"source": "kilns.kiln_id", "filter": 'status == "idle"', "visible_in_first_turn": True},
        "cone": {"source": "range:{min: 4, max: 5}", "visible_in_first_turn": True},
    }


def test_stub_of_two_calls_takes_assertions_of_two_calls_only(tmp_path: Path) -> None:
    names = [name for name in ALL_POLICIES if TEMPLATES[name]["turn_policy"] != "multi_tool"]
    pack = load(write_pack(tmp_path / "pack", templates=names))
    both = NewTemplate(template_id="both", policy="multi_tool", tool="get_kiln")
    assert refusal(pack, both) == (
        "stub_impossible: both: `multi_tool`: no template like it names an assertion to use\n"
        "  fix: name one with `--assertion`, or write one with `bfcl new assertion`"
    )
    entry = new_template(pack, dataclasses.replace(both, assertions=("assert_kiln_read",)))
    assert (entry["category"], entry["success_assertions"]) == ("kilns", ["assert_kiln_read"])


def test_stub_of_a_correction_needs_a_second_value(tmp_path: Path) -> None:
    reserved = held_out({"kilns": ["K-2", "K-3"]}, seed=7)
    pack = load(write_pack(tmp_path / "pack", put("fixtures.json", ["kilns"], FIXTURES["kilns"][:3]), reserved))
    assert refusal(pack, NewTemplate(template_id="other", policy="correction", tool="get_kiln")) == (
        "stub_impossible: other: `correction`: no required parameter of `get_kiln` has two values to choose from\n"
        "  fix: add a row to fixtures.json, or a value to the enum of tools.json"
    )


def test_stub_of_a_correction_corrects_a_parameter_that_has_two_values(tmp_path: Path) -> None:
    pack = load(
        write_pack(tmp_path / "pack", put("fixtures.json", ["kilns"], FIXTURES["kilns"][:1]), templates=ALL_POLICIES)
    )
    wanted = NewTemplate(
        template_id="other", policy="correction", tool="start_firing", assertions=("assert_kiln_busy",)
    )
    [reply, _] = new_template(pack, wanted)["user_simulator_turns"]  # type: ignore[misc]
    assert list(reply["slot_updates"]) == ["cone"]  # type: ignore[index,call-overload]
