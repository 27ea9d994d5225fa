"""Which rows a run publishes, which it drops and why, and what `rebuild=1` and `replay=full` do again."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bfcl.canonical import canonical_json
from bfcl.digest import blake3_json, blake3_of
from bfcl.records.ids import TURN_POLICIES
from bfcl.release.verify import verify_release
from tests.packs import FIXTURES, replace
from tests.system.project import TABLES, Project, write_project


def of_template(project: Project, template_id: str) -> list[dict[str, object]]:
    found = [row for row in project.rows() if row["template_id"] == template_id]
    assert found
    return found


def test_rows_of_every_turn_policy_are_published(policies: Project) -> None:
    assert {row["turn_policy"] for row in policies.rows()} == set(TURN_POLICIES)
    verify_release(policies.run_dir)


def test_dependent_call_takes_its_argument_from_the_earlier_result(policies: Project) -> None:
    for row in of_template(policies, "last_firing"):
        first, second = row["expected_tool_calls"]  # type: ignore[misc]
        told = [message["content"] for message in row["messages"] if message["role"] == "tool"]  # type: ignore[attr-defined]
        (firing_id,) = [json.loads(value) for name, value in second["arguments"] if name == "firing_id"]
        assert json.loads(told[0])["kiln"]["recent_firings"][0] == firing_id
        assert second["call_group"] > first["call_group"]


def test_call_carries_a_field_of_the_row_that_nobody_named(policies: Project) -> None:
    rows = {row["firing_id"]: row for row in FIXTURES["firings"]}
    for template_id in ("kiln_of_firing", "firing_corrected"):
        for row in of_template(policies, template_id):
            said = [message["content"] for message in row["messages"] if message["role"] == "user"]  # type: ignore[attr-defined]
            firing = rows[re.findall(r"F-[0-9]+", " ".join(said))[-1]]
            (call,) = row["expected_tool_calls"]  # type: ignore[misc]
            assert [json.loads(value) for _, value in call["arguments"]] == [firing["kiln_id"]]
            assert not any("K-" in text for text in said)
            assert template_id == "kiln_of_firing" or f"cone {firing['cone']}" in said[-1]


def test_corrected_value_is_what_the_call_carries(policies: Project) -> None:
    for row in of_template(policies, "kiln_corrected"):
        (call,) = row["expected_tool_calls"]  # type: ignore[misc]
        (kiln_id,) = [json.loads(value) for name, value in call["arguments"] if name == "kiln_id"]
        first, last = [message["content"] for message in row["messages"] if message["role"] == "user"]  # type: ignore[attr-defined]
        assert kiln_id in last
        assert kiln_id not in first


def test_parallel_calls_share_a_group_and_one_assistant_message(policies: Project) -> None:
    for row in of_template(policies, "kiln_and_firing"):
        assert [call["call_group"] for call in row["expected_tool_calls"]] == [0, 0]  # type: ignore[attr-defined]
        asked = [message["tool_calls"] for message in row["messages"] if message["tool_calls"]]  # type: ignore[attr-defined]
        assert [len(calls) for calls in asked] == [2]


def test_every_row_declares_what_it_was_validated_by(policies: Project) -> None:
    for row in policies.rows():
        assert row["validated_by"] == ["schema", "replay", "assertions"]
        assert row["gold_eligible"] is True
        assert row["held_out_hit"] is None


DROPPING = (
    replace(
        "backend.py",
        '    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}',
        '    if kiln_id == "K-2":\n'
        '        raise RuntimeError("the south wall is wet")\n'
        '    kiln = copy.deepcopy(_STATE["kilns"][kiln_id])\n'
        '    if kiln_id == "K-3":\n'
        "        import time\n"
        '        kiln["seen"] = time.time()\n'
        '    return {"kiln": kiln}',
    ),
    replace(
        "assertions.py",
        '    assert firings[0]["arguments"]["firing_id"] == kilns[0]["result"]["kiln"]["recent_firings"][0]',
        '    assert task["slots"]["kiln_id"] != "K-1", "north kilns are told apart"',
    ),
)


def test_dropped_tasks_keep_their_rows_with_reasons_in_all_six_tables(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", DROPPING[0], templates=("kiln_status",))
    ended = project.generate()
    ids = [[row["task_id"] for row in project.rows(name)] for name in TABLES]
    assert len(ids[0]) == 3
    assert all(one == ids[0] for one in ids)
    verdicts = {
        json.loads(task["slots"])["kiln_id"]: (verdict["valid"], verdict["reason"], verdict["detail"])
        for task, verdict in zip(project.rows(TABLES[0]), project.rows(TABLES[5]), strict=True)
    }
    assert verdicts["K-1"] == (True, None, None)
    assert verdicts["K-2"][:2] == (False, "executable_replay_failed")
    assert "the south wall is wet" in verdicts["K-2"][2]
    assert verdicts["K-3"][:2] == (False, "nondeterministic_replay")
    assert "seen" in verdicts["K-3"][2]
    assert [row["task_id"] for row in project.rows("benchmark_raw.parquet")] == [ids[0][_index(project, "K-1")]]
    assert project.manifest()["stage_counts"]["expanded"] == 3
    assert project.manifest()["stage_counts"]["published"] == 1
    assert "replay valid              1   dropped most: executable_replay_failed 1" in ended.out


def _index(project: Project, kiln_id: str) -> int:
    return [json.loads(row["slots"])["kiln_id"] for row in project.rows(TABLES[0])].index(kiln_id)


def test_replay_full_recomputes_replays_and_all_that_comes_of_them_and_nothing_else(built: Project) -> None:
    tables = built.tables()
    built.generate("replay=full")
    assert {name.partition(":")[0] for name in built.shards("computed")} == {"executable_replay", "final_output"}
    assert len(built.shards("computed")) == 8
    assert built.merges("computed") == ["executable_replay", "final_output"]
    assert built.tables() == tables


def test_rebuild_computes_everything_again_and_agrees(built: Project) -> None:
    tables = built.tables()
    built.generate("rebuild=1")
    assert len(built.shards("computed")) == 28
    assert built.shards("hit") == []
    assert built.tables() == tables


def forge(project: Project, stage: str) -> str:
    """Change a stored shard as one that was computed otherwise would look: record and digests consistent."""
    fp = project.pointers()[stage]["shards"][0]["fp"]
    entry = project.build / fp
    rows = entry / "rows.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b'"language":"en"', b'"language":"EN"'))
    record = json.loads((entry / "record.json").read_bytes())
    record["files"]["rows.jsonl"]["blake3"] = blake3_of(rows.read_bytes())
    del record["record_digest"]
    record["record_digest"] = blake3_json(record)
    (entry / "record.json").write_bytes(canonical_json(record) + b"\n")
    return str(fp)


def test_rebuild_that_differs_from_what_is_stored_is_refused_and_keeps_the_old_entry(built: Project) -> None:
    label = built.pointers()["render"]["shards"][0]["label"]
    fp = forge(built, "render")
    stored = (built.build / fp / "rows.jsonl").read_bytes()
    ended = built.doit("generate", "rebuild=1")
    assert ended.status == 1
    assert ended.blocks == [
        f"build_nondeterministic: render:{label}: computed again from the same inputs, rows.jsonl of build/{fp} "
        "differs; the stored entry stays\n"
        "  fix: look for clock, environment or set order in what this stage runs, then `doit clean` it"
    ]
    assert (built.build / fp / "rows.jsonl").read_bytes() == stored
    assert built.leftovers() == []
    assert built.published() == []
