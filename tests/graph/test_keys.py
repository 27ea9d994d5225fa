"""Store keys: an edit changes the keys of what it touches, and no other."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bfcl.config.model import RunConfig
from bfcl.graph.keys import KeyMaker, merge_key
from bfcl.graph.pointers import Shard
from bfcl.graph.shards import chunks
from bfcl.pack.load import load_pack
from bfcl.stages import SHARDED
from bfcl.stages.wording import render_language, wording_of
from tests.packs import ALL_POLICIES, Edit, append, held_out, put, put_template, run_config, write_pack

ROWS = {"expand": "d1"}


def maker(root: Path, *edits: Edit, **config: object) -> KeyMaker:
    """A key maker of the pack with every policy, edited."""
    write_pack(root, *edits, templates=ALL_POLICIES)
    settings: RunConfig = run_config(root, **config)
    pack = load_pack(settings, project=root.parent)
    surface = settings.surface_generation
    language = render_language(surface.language, pack.manifest, pack.templates)
    wording = wording_of(pack.manifest, pack.tools, language, surface.prevent_tool_name_leakage)
    return KeyMaker(pack=pack, config=settings, language=language, wording=wording, oracle_view="view")


def keys(made: KeyMaker) -> dict[tuple[str, str], str]:
    """(stage, template) to address, with equal rows from upstream."""
    found = {}
    for template in made.pack.templates:
        (chunk,) = chunks(template.template_id, 3)
        for stage in SHARDED:
            found[stage.name, str(template.template_id)] = str(made.shard(stage.name, template, chunk, ROWS).fp)
    return found


def touched(tmp_path: Path, *edits: Edit, view: str = "view", **config: object) -> set[tuple[str, str]]:
    """The keys that an edit changes."""
    before = keys(maker(tmp_path / "pack"))
    made = maker(tmp_path / "pack", *edits, **config)
    made.oracle_view = view
    after = keys(made)
    return {name for name in before if before[name] != after[name]}


def test_same_pack_elsewhere_gives_the_same_keys(tmp_path: Path) -> None:
    assert keys(maker(tmp_path / "one" / "pack")) == keys(maker(tmp_path / "other" / "deep" / "pack"))


def test_shards_of_one_run_have_keys_of_their_own(tmp_path: Path) -> None:
    found = keys(maker(tmp_path / "pack"))
    assert len(set(found.values())) == len(found) == len(ALL_POLICIES) * len(SHARDED)


def test_template_edit_touches_that_template_and_not_its_replay(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ("user_turn_templates", "en"), "Kiln {kiln_id}, is it free?")
    assert touched(tmp_path, edit) == {
        (stage.name, "kiln_status") for stage in SHARDED if stage.name != "executable_replay"
    }


def test_comment_touches_nothing(tmp_path: Path) -> None:
    assert touched(tmp_path, append("task_templates.yaml", "# a remark\n")) == set()


def test_view_touches_replays_and_dependent_traces(tmp_path: Path) -> None:
    expected = {("executable_replay", name) for name in ALL_POLICIES} | {("expected_trace", "last_firing")}
    assert touched(tmp_path, view="another") == expected


@pytest.mark.parametrize(
    "config",
    [
        {"oracle_runtime__clock": "2026-04-02T09:00:00+07:00"},
        {"oracle_runtime__tool_timeout_s": 4.0},
        {"oracle_runtime__episode_timeout_s": 50.0},
        {"oracle_runtime__worker": "thread"},
    ],
)
def test_oracle_settings_touch_replays_and_dependent_traces(tmp_path: Path, config: dict[str, Any]) -> None:
    expected = {("executable_replay", name) for name in ALL_POLICIES} | {("expected_trace", "last_firing")}
    assert touched(tmp_path, **config) == expected


@pytest.mark.parametrize("config", [{"random_seed": 8}, {"task_generation__candidate_tasks_per_category": 11}])
def test_seed_and_budget_touch_expansion_alone(tmp_path: Path, config: dict[str, Any]) -> None:
    assert touched(tmp_path, **config) == {("expand", name) for name in ALL_POLICIES}


@pytest.mark.parametrize("config", [{"expt_name": "other"}, {"output_dir": Path("/elsewhere")}])
def test_name_and_place_of_the_run_touch_nothing(tmp_path: Path, config: dict[str, Any]) -> None:
    assert touched(tmp_path, **config) == set()


def test_prompt_touches_wording_alone(tmp_path: Path) -> None:
    edit = put("manifest.yaml", ("system_prompt",), "You tend kilns.")
    assert touched(tmp_path, edit) == {("render", name) for name in ALL_POLICIES}


def test_fixture_row_touches_what_binds_its_collection_and_what_is_reset_to_it(tmp_path: Path) -> None:
    found = touched(tmp_path, put("fixtures.json", ("firings", 0, "outcome"), "fair"))
    assert {template for stage, template in found if stage == "expand"} == {"kiln_and_firing"}
    assert {stage for stage, _ in found} == {"expand", "executable_replay", "expected_trace"}
    assert {template for stage, template in found if stage == "expected_trace"} == {"last_firing"}


def test_absent_ids_touch_what_names_them(tmp_path: Path) -> None:
    found = touched(tmp_path, put("manifest.yaml", ("absent_ids", "kilns"), ["K-90"]))
    assert found == {("expand", "kiln_unknown")}


def test_tool_description_touches_traces_and_their_validation(tmp_path: Path) -> None:
    found = touched(tmp_path, put("tools.json", (0, "function", "description"), "Find one kiln."))
    assert {stage for stage, _ in found} == {"expected_trace", "schema_validation"}


def test_rows_of_an_upstream_stage_count(tmp_path: Path) -> None:
    made = maker(tmp_path / "pack")
    template = made.pack.templates[0]
    (chunk,) = chunks(template.template_id, 3)
    one = made.shard("render", template, chunk, {"expand": "d1", "state_machine": "d2"})
    other = made.shard("render", template, chunk, {"expand": "d1", "state_machine": "d3"})
    assert one.fp != other.fp
    assert one.inputs["rows/state_machine"] == "d2"


def test_chunk_of_tasks_counts_in_expansion(tmp_path: Path) -> None:
    made = maker(tmp_path / "pack")
    template = made.pack.templates[0]
    first, second = chunks(template.template_id, 200)
    renamed = dataclasses.replace(second, label=first.label)
    assert made.shard("expand", template, first, {}).fp != made.shard("expand", template, renamed, {}).fp


def shard(label: str, digest: str) -> Shard:
    fp: Any = digest
    return Shard(label=label, fp=fp, digest=fp, rows=1)


def test_merge_depends_on_rows_order_library_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = shard("a", "1"), shard("b", "2")
    base = merge_key("render", "merge", (a, b), {"order": "o"}, {})
    assert base == merge_key("render", "merge", (a, b), {"order": "o"}, {})
    others = [
        merge_key("render", "merge", (b, a), {"order": "o"}, {}),
        merge_key("render", "merge", (a, shard("b", "3")), {"order": "o"}, {}),
        merge_key("render", "merge", (a, shard("c", "2")), {"order": "o"}, {}),
        merge_key("render", "merge", (a, b), {"order": "p"}, {}),
        merge_key("render", "merge", (a, b), {"order": "o"}, {"x": 1}),
        merge_key("expand", "merge", (a, b), {"order": "o"}, {}),
        merge_key("render", "final_output", (a, b), {"order": "o"}, {}),
    ]
    monkeypatch.setattr("bfcl.graph.keys.pyarrow_version", lambda: "0")
    others.append(merge_key("render", "merge", (a, b), {"order": "o"}, {}))
    assert len({key.fp for key in (base, *others)}) == len(others) + 1


# --- held-out policies ----------------------------------------------------------------------------------------------


def test_reserved_row_touches_the_expansion_of_what_binds_its_collection(tmp_path: Path) -> None:
    assert touched(tmp_path, held_out({"firings": ["F-10"]})) == {("expand", "kiln_and_firing")}


def test_reserved_template_version_and_seed_touch_no_shard(tmp_path: Path) -> None:
    assert touched(tmp_path, held_out({"firings": []}, ["kiln_status"], seed=9)) == set()


def test_rows_hidden_from_the_oracle_touch_what_is_reset_to_the_rest(tmp_path: Path) -> None:
    found = touched(tmp_path, held_out({"firings": ["F-10"]}, fixtures_in_backend_state=False))
    assert found == {
        ("expand", "kiln_and_firing"),
        ("expected_trace", "last_firing"),
        *(("executable_replay", name) for name in ALL_POLICIES),
    }


def test_hiding_no_row_touches_no_replay(tmp_path: Path) -> None:
    assert touched(tmp_path, held_out({}, ["kiln_status"], fixtures_in_backend_state=False)) == set()
