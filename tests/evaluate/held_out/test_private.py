"""Private tasks pass what published ones pass, and are refused before anybody is asked where they cannot serve."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from bfcl.evaluate.held_out.private import PrivateTasks, mode_of, private_tasks
from tests.evaluate.held_out.bench import RESERVED, SECRETS, Bench, held_out_bench
from tests.evaluate.refusals import refused
from tests.packs import Edit, held_out, put, replace


def test_private_tasks_are_rows_as_the_stages_publish_them(bench: Bench, private: PrivateTasks) -> None:
    assert (len(private.tasks), private.refused) == (13, 0)
    for one in private.tasks:
        assert one.row.published["gold_eligible"]
        assert one.row.metadata["language"] == "en"
        assert one.row.metadata["expt_name"] == bench.verified.rows[0].metadata["expt_name"]
        assert one.row.published["seed"] == one.task.seed
        assert len(one.script.gold_calls) == len(one.row.calls)


def test_private_tasks_resolve_what_depends_on_earlier_results(private: PrivateTasks) -> None:
    dependent = [one for one in private.tasks if one.task.template_id == "last_firing"]
    assert len(dependent) == 2
    for one in dependent:
        firing_id = one.script.gold_calls[1].arguments["firing_id"]
        assert f'"recent_firings":["{firing_id}"' in one.script.gold_calls[0].recorded_result


def test_private_tasks_tell_nothing_of_themselves(private: PrivateTasks) -> None:
    assert repr(private) == "PrivateTasks(refused=0)"


def test_private_tasks_are_the_same_however_often_they_are_made(bench: Bench, private: PrivateTasks) -> None:
    assert bench.private() == private


def leaky() -> Edit:
    """A kiln that is called as a tool, which no user turn may say."""
    return put("fixtures.json", ("kilns", 3, "kiln_id"), "get_firing")


def test_private_tasks_drop_what_breaks_a_guard(tmp_path: Path) -> None:
    bench = held_out_bench(tmp_path, leaky(), held_out({"kilns": ["get_firing"]}, ["kiln_unnamed"]), limit=3)
    private = bench.private()
    # The one that names its kiln to nobody, and those of the reserved template.
    assert [one.task.template_id for one in private.tasks] == ["kiln_unnamed", "kiln_unnamed", "kiln_unclear"]
    assert private.refused == 9


def test_private_tasks_drop_what_fails_its_replay(tmp_path: Path) -> None:
    read = 'assert calls, "the kiln was not looked up"'
    edits = held_out({"kilns": ["K-8"]}), replace("assertions.py", read, 'assert task["slots"]["kiln_id"] != "K-8"')
    private = held_out_bench(tmp_path, *edits, templates=("kiln_status", "start_confirmed"), limit=3).private()
    assert [one.task.template_id for one in private.tasks] == ["start_confirmed"] * 2
    assert private.refused == 1


NO_TASK = "unsupported_eval_mode: asks for `held_out_eval`, and the pack's policy gives no private task"
FIX = (
    "\n  fix: leave `held_out_eval` out, or have the pack hold out a template that binds other rows, or rows that "
    "other templates bind and its oracle keeps (`fixtures_in_backend_state: true`)"
)


def test_private_tasks_are_refused_where_none_passes(tmp_path: Path) -> None:
    reserve = held_out({"kilns": ["get_firing"]})
    bench = held_out_bench(tmp_path, leaky(), reserve, templates=("kiln_status",), limit=3)
    assert [str(problem) for problem in refused(bench.private)] == [
        f"{tmp_path}/eval.yaml: {NO_TASK}; 1 that it binds do not pass the checks of generation; expected one at least"
        f"{FIX}"
    ]


def test_private_tasks_are_refused_where_none_is_bound(tmp_path: Path) -> None:
    reserve = held_out({"kilns": ["K-8"]}, fixtures_in_backend_state=False)
    bench = held_out_bench(tmp_path, reserve, templates=("kiln_status",), limit=3)
    told = refused(bench.private)
    assert [str(problem) for problem in told] == [f"{tmp_path}/eval.yaml: {NO_TASK}; expected one at least{FIX}"]
    assert [problem.field for problem in told] == ["eval.mode"]


def test_private_tasks_are_refused_where_the_policy_cannot_judge_them(bench: Bench) -> None:
    scoring = dataclasses.replace(bench.settings.scoring, task_success="assertions_only")
    traced = bench.asking_for("trace", "held_out_eval", scoring=scoring)
    path = bench.settings.path
    assert [str(problem) for problem in refused(traced.private)] == [
        f"{path}: eval_trace_scoring_policy_unsupported: assertions_only cannot judge this task: a trace runs no "
        "assertions\n  fix: set `task_success: all_applicable_gates`"
    ]
    assert len(bench.asking_for(scoring=scoring).private().tasks) == 13


def test_private_tasks_withhold_why_no_episode_runs(tmp_path: Path) -> None:
    bench = held_out_bench(tmp_path)
    backend = bench.pack.root / "backend.py"
    backend.write_text(backend.read_text() + "\n# moved\n")
    assert [str(problem) for problem in refused(bench.private)] == [
        "eval_oracle_session_failed: the private tasks could not be made (pack_drift); what was said "
        "of it is withheld, as it may quote a private task\n"
        "  fix: see whether a public task fails alike (`mode: [executable]`): that one says why"
    ]


def test_private_tasks_refuse_a_source_verified_for_another_mode(bench: Bench) -> None:
    other = dataclasses.replace(bench.settings, held_out=None)
    with pytest.raises(ValueError, match="verified for another mode"):
        asyncio.run(private_tasks(other, bench.verified))


def test_private_tasks_end_at_once_when_they_are_cancelled(tmp_path: Path) -> None:
    slow = replace("backend.py", 'return {"kiln": copy', 'while kiln_id == "K-8": pass\n    return {"kiln": copy')
    bench = held_out_bench(tmp_path, held_out({"kilns": ["K-8"]}, RESERVED), slow).patient()

    async def cancelled() -> None:
        making = asyncio.create_task(private_tasks(bench.settings, bench.verified))
        await asyncio.sleep(0)
        making.cancel()
        await making

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("modes", "mode"),
    [
        (("held_out_eval",), "executable"),
        (("trace", "held_out_eval"), "trace"),
        (("executable", "held_out_eval"), "executable"),
        (("trace", "executable", "held_out_eval"), "executable"),
    ],
)
def test_mode_of_is_that_of_the_public_run_and_live_alone(modes: tuple[str, ...], mode: str, bench: Bench) -> None:
    assert mode_of(bench.asking_for(*modes).settings) == mode


def test_secrets_are_in_no_published_row(bench: Bench) -> None:
    said = repr([row.published for row in bench.verified.rows])
    assert [secret for secret in SECRETS if secret in said] == []
