"""Which calls claim a confirmation, and which turns of a row have one."""

from __future__ import annotations

from pathlib import Path

from bfcl.evaluate.drive.confirmations import Confirmations, confirmations
from bfcl.pack.load import load_pack
from bfcl.stages.state_machine import outline
from tests.evaluate.drive.benchmark import Benchmark
from tests.packs import put, run_config, write_pack


def of(studio: Benchmark, template_id: str) -> Confirmations:
    template = next(one for one in studio.pack.templates if one.template_id == template_id)
    drawn = outline(template, {tool.name: tool for tool in studio.pack.tools})
    return confirmations(studio.pack, drawn, studio.row(template_id).groups)


def test_confirmations_cover_the_turn_behind_the_users_answer(studio: Benchmark) -> None:
    assert of(studio, "start_confirmed").turns == {1}
    # A correction voids the first answer: the turn behind the second one is covered.
    assert of(studio, "cone_corrected").turns == {2}
    assert of(studio, "kiln_and_firing").turns == frozenset()


def test_confirmation_is_asked_by_true_alone(studio: Benchmark) -> None:
    agreed = of(studio, "start_confirmed")
    assert agreed.asked_by("start_firing", {"confirm": True})
    assert not any(agreed.asked_by("start_firing", {"confirm": value}) for value in (False, 1, "true", None))
    assert not agreed.asked_by("start_firing", {})


def test_confirmation_under_another_name_and_true_by_default_is_asked_by_silence(tmp_path: Path) -> None:
    schema = (2, "function", "parameters", "properties")
    root = write_pack(
        tmp_path / "pack",
        put("manifest.yaml", ("confirmation",), {"parameter": "sure"}),
        put("tools.json", (*schema, "sure"), {"type": "boolean", "default": True}),
    )
    pack = load_pack(run_config(root), project=tmp_path)
    template = next(one for one in pack.templates if one.template_id == "kiln_status")
    agreed = confirmations(pack, outline(template, {tool.name: tool for tool in pack.tools}), ())
    assert (agreed.parameter, agreed.by_default) == ("sure", frozenset({"start_firing"}))
    assert agreed.asked_by("start_firing", {})
    assert not agreed.asked_by("start_firing", {"sure": False})
    assert not agreed.asked_by("get_kiln", {"confirm": True})
