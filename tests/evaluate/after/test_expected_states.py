"""States that expected calls leave."""

from __future__ import annotations

import dataclasses
import json

from bfcl.evaluate.after.expected_states import expected_states
from bfcl.evaluate.after.rebuild import rebuild
from tests.evaluate.after.finishing import Evaluated, scripts_of


def test_expected_states_are_those_after_the_expected_calls(evaluated: Evaluated) -> None:
    result = rebuild(evaluated.executable).result
    scripts = scripts_of(evaluated.site)
    found, refused = expected_states(result, scripts)
    assert refused is None
    assert list(found) == [script.task_id for script in scripts]
    started = {script.template_id: json.loads(found[script.task_id])["next_firing"] for script in scripts}
    assert started["start_confirmed"] == started["kiln_status"] + 1


def test_expected_states_are_none_and_say_why_where_the_pack_cannot_be_run_any_more(evaluated: Evaluated) -> None:
    result = rebuild(evaluated.executable).result
    oracle = result.verified.oracle
    assert oracle is not None
    moved = dataclasses.replace(oracle.pack, fingerprint=result.settings.eval_config_hash, entries={})
    verified = dataclasses.replace(result.verified, oracle=dataclasses.replace(oracle, pack=moved))
    found = expected_states(dataclasses.replace(result, verified=verified), scripts_of(evaluated.site))
    assert found.by_task == {}
    assert found.refused is not None
    assert found.refused.code == "worker_start_failed"


def test_expected_states_of_a_trace_are_none(evaluated: Evaluated) -> None:
    assert expected_states(rebuild(evaluated.trace).result, scripts_of(evaluated.site)) == ({}, None)
