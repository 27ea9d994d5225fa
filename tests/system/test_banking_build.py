"""The banking pack as a build: its rows played by somebody else's code, its reserved rows kept out, its edits small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from bfcl.release.verify import verify_release
from tests.system.evaluation import Bench
from tests.system.project import REPOSITORY, Ended, Project

PACK = "packs/banking_vn_oracle_pack"
CONFIG = "config=configs/banking_vn.yaml"
REWORDED = ("Bạn ơi, xem giúp mình tài khoản {account_no} còn", "Bạn ơi, cho mình hỏi tài khoản {account_no} còn")
RESERVED = {"cards": ["THE-1001", "THE-1002"], "disputes": ["TS-5001"], "qr_payments": ["QR-7001", "QR-7003"]}


class Bank(Project):
    """A project with the bundled pack, built with its smoke configuration but for the policy of its lineage."""

    @property
    def pack(self) -> Path:
        return self.root / PACK

    @property
    def run_dir(self) -> Path:
        return self.build / "runs" / "banking_vn"


@pytest.fixture(scope="module")
def bank(banking: Bench) -> Bank:
    """Never to be changed."""
    return Bank(banking.project.root)


def replayed(project: Bank) -> Any:
    """What a program that knows the pack's contract and nothing of ours says of the published table."""
    script = REPOSITORY / "tests" / "system" / "independent_replay.py"
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(project.run_dir), str(project.pack)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_row_agrees_when_played_without_a_line_of_ours(bank: Bank) -> None:
    seen = replayed(bank)
    assert seen["wrong"] == []
    assert seen["rows"] == len(bank.rows()) == 96
    assert seen["calls"] == sum(row["num_tool_calls"] for row in bank.rows())


def test_independent_replay_notices_an_answer_that_was_changed(bank: Bank, tmp_path: Path) -> None:
    other = Bank(bank.copy(tmp_path / "project").root)
    table = pyarrow.parquet.read_table(other.run_dir / "benchmark.parquet")
    rows = table.to_pylist()
    row, message = next((row, one) for row in rows for one in row["messages"] if one["role"] == "tool")
    message["content"] = '{"balance":1}'
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(rows, schema=table.schema), other.run_dir / "benchmark.parquet"
    )
    assert replayed(other)["wrong"] == [[row["task_id"], "call_0"]]


def test_rewording_one_template_computes_its_own_shards_alone(bank: Bank, tmp_path: Path) -> None:
    project = Bank(bank.copy(tmp_path / "project").root)
    before = project.canonical_rows()
    project.edit(project.pack / "task_templates.yaml", *REWORDED)
    project.generate(CONFIG)
    assert {name.partition(":")[2] for name in project.shards("computed")} == {"balance_casual"}
    assert "executable_replay:balance_casual" not in project.shards("computed")
    after = project.canonical_rows()
    changed = {task_id for task_id in before if before[task_id] != after.get(task_id)}
    assert changed == {task_id for task_id in before if "__balance_casual__" in task_id}


def reserve(project: Bank) -> Ended:
    (project.pack / "held_out.yaml").write_text(
        json.dumps({"version": "1", "fixtures": RESERVED, "templates": ["dispute_status_casual"]}), encoding="utf-8"
    )
    project.append(project.pack / "manifest.yaml", "\nheld_out: held_out.yaml\n")
    return project.generate(CONFIG)


def test_held_out_variant_publishes_nothing_that_it_reserves(bank: Bank, tmp_path: Path) -> None:
    project = Bank(bank.copy(tmp_path / "project").root)
    used = {ref for row in project.rows() for ref in row["fixture_refs"]}
    references = {json.dumps([name, one], separators=(",", ":")) for name, ids in RESERVED.items() for one in ids}
    assert used & references, "the reservation must take something away"
    reserve(project)
    for name in ("benchmark.parquet", "benchmark_raw.parquet"):
        rows = project.rows(name)
        assert rows
        assert {row["held_out_hit"] for row in rows} == {False}
        assert not [row["task_id"] for row in rows if row["template_id"] == "dispute_status_casual"]
        assert not [row["task_id"] for row in rows if references & set(row["fixture_refs"])]
        said = "\n".join(turn["content"] or "" for row in rows for turn in row["messages"] if turn["role"] == "user")
        arguments = json.dumps([row["expected_tool_calls"] for row in rows])
        leaked = [one for ids in RESERVED.values() for one in ids if one in said or one in arguments]
        assert leaked == []
    assert replayed(project)["wrong"] == []
    verify_release(project.run_dir)
