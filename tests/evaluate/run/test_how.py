"""A run that is told nothing of its surroundings takes those of the process, and shows nothing."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.run.how import Headway, How, Silent, no_runtime


def test_surroundings_are_those_of_the_process_where_nobody_gives_others() -> None:
    how = How()
    assert how.environment is os.environ
    assert (how.eval_run_id, dict(how.runtime())) == (None, dict(no_runtime()))
    assert how.now().utcoffset() == timedelta(0)


def test_run_ids_are_fresh_each_time() -> None:
    fresh = {How().fresh() for _ in range(20)}
    assert len(fresh) == 20
    assert {len(bytes.fromhex(one)) for one in fresh} == {16}


def test_silent_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.show(Headway(alias="a", done=0, total=1, successes=0, infrastructure_stops=0, tokens=0))
    silent.warn([Problem(code="code", message="message")])
    silent.close()
    assert capfd.readouterr() == ("", "")
