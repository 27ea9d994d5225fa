"""What a worker does with a group: only for the program it is, only by an order it has."""

from __future__ import annotations

import pickle
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import OracleError, Problem
from bfcl.graph import remote_shards
from bfcl.graph.compute import COMPUTE, StageContext
from bfcl.graph.executor import Job
from bfcl.graph.host import python_minor
from bfcl.graph.layout import BuildTree
from bfcl.graph.remote_shards import ORACLES, ORDERS_KEPT, compute_group, program, remote_stage, take_order
from bfcl.graph.shards import Chunk
from bfcl.graph.shipped_view import ship_view
from bfcl.graph.sources import package_digest
from bfcl.graph.store import Store
from bfcl.graph.view import store_view
from bfcl.oracle.view import oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_pack
from bfcl.records.ids import TemplateId
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import settings_of
from bfcl.stages.wording import wording_of
from tests.clusters import Blunder, Count, Refuse
from tests.packs import ALL_POLICIES, run_config, write_pack

TEMPLATE: Any = None
JOB = Job(
    number=3,
    template=TEMPLATE,
    chunk=Chunk(template_id=TemplateId("t"), label="t", start=0, stop=2),
    rows={},
)
OTHER = {**program(), "python": "2.7"}


def answered(order: object, digest: str = "d", expected: dict[str, str] | None = None) -> dict[str, Any]:
    take_order(program(), digest, pickle.dumps(order))
    return dict(compute_group(expected or program(), digest, pickle.dumps([JOB])))


def test_program_is_what_results_depend_on() -> None:
    assert program() == {
        "package": package_digest(),
        "python": python_minor(),
        "fork": "yes",
        "system": platform.system(),
        "machine": platform.machine(),
        "jsonschema": version("jsonschema"),
        "time-machine": version("time-machine"),
    }


def test_library_that_is_missing_is_a_fact_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_shards, "LIBRARIES", ("never-released",))
    assert remote_shards._program()["never-released"] == "missing"


def test_group_is_computed_by_the_order_it_names() -> None:
    answer = answered(Count())
    assert answer == {
        "worker": "this process",
        "program": program(),
        "rows": [[b"3", b"3"]],
        "refusal": None,
        "lacks_order": False,
        "isolation": answer["isolation"],
    }


def test_group_for_another_program_is_not_even_unpickled() -> None:
    take_order(program(), "d", pickle.dumps(Count()))
    answer = compute_group(OTHER, "d", b"no pickle")
    assert (answer["program"], answer["rows"], answer["refusal"]) == (program(), None, None)


def test_order_for_another_program_is_not_kept() -> None:
    take_order(OTHER, "unwanted", b"no pickle")
    assert compute_group(program(), "unwanted", b"")["lacks_order"]


def test_group_whose_order_is_lacking_is_not_unpickled() -> None:
    answer = compute_group(program(), "never sent", b"no pickle")
    assert (answer["lacks_order"], answer["rows"]) == (True, None)


def test_refusal_is_answered_and_a_bug_is_not() -> None:
    refusal = answered(Refuse())["refusal"]
    assert isinstance(refusal, OracleError)
    assert refusal.problems == (Problem(code="worker_start_failed", message="no room", fix="make room"),)
    with pytest.raises(RuntimeError, match="a bug"):
        answered(Blunder())


def test_oldest_orders_make_room() -> None:
    for number in range(ORDERS_KEPT + 1):
        take_order(program(), f"run {number}", pickle.dumps(Count()))
    lacking = [compute_group(program(), f"run {number}", pickle.dumps([JOB]))["lacks_order"] for number in range(3)]
    assert lacking == [True, False, False]


def test_every_stage_computes_the_same_after_the_journey(tmp_path: Path, temporary: Path) -> None:
    pack = load_pack(run_config(write_pack(tmp_path / "pack", templates=ALL_POLICIES)), project=tmp_path)
    config = run_config(pack.root)
    store = Store(BuildTree(tmp_path / "build"))
    entry = store.find(store_view(store, pack))
    assert entry is not None
    spec = oracle_spec(pack, config, entry.path)
    jobs = [
        Job(number=number, template=template, chunk=Chunk(template_id=template.template_id, label="", start=0, stop=1),
            rows={})
        for number, template in enumerate(pack.templates)
    ]  # fmt: skip
    with LocalOracle(spec, jobs=2) as oracle:
        context = StageContext(
            sources=sources_of(pack),
            expand=settings_of(config, pack.manifest),
            wording=wording_of(pack.manifest, pack.tools, "en", True),
            catalog={tool.name: tool for tool in pack.tools},
            confirmation_parameter=pack.manifest.confirmation.parameter,
            language="en",
            oracle=oracle,
        )
        for stage in COMPUTE:
            work = pickle.dumps(remote_stage(stage, context, ship_view(entry, spec)))
            assert str(tmp_path).encode() not in work
            here = COMPUTE[stage](jobs, context)
            take_order(program(), stage, work)
            there = compute_group(program(), stage, pickle.dumps(jobs))
            assert (there["refusal"], there["rows"]) == (None, here)
            assert [len(lines) for lines in here] == [1] * len(jobs)
            for one, lines in zip(jobs, here, strict=True):
                one.rows[stage] = lines
        assert there["isolation"] == oracle.isolation()
    ORACLES.close()
    assert list(temporary.iterdir()) == []
