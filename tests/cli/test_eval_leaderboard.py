"""`bfcl eval-leaderboard`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_eval_leaderboard_ranks_candidates(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-leaderboard", str(evaluated.trace), str(evaluated.solo), "--format", "json")
    assert ended.status == 0
    standings = json.loads(ended.out)["standings"]
    assert [(one["rank"], one["alias"]) for one in standings][:1] == [(1, "gold")]
    assert len(standings) == 5


def test_eval_leaderboard_prints_a_table_with_whole_names(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-leaderboard", str(evaluated.solo), "--format", "text")
    assert ended.status == 0
    head, line = ended.out.splitlines()
    assert head.split() == ["rank", "candidate", "model", "success", "tasks", "95", "%", "by", "template"]
    assert line.split()[:3] == ["1", "solo", f"hub:org/solo@{'ab' * 20}"]


def test_eval_leaderboard_refuses_other_scopes_by_name(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-leaderboard", str(evaluated.solo), str(evaluated.executable), "--format", "text")
    assert (ended.status, ended.out) == (3, "")
    assert f"leaderboard_ineligible: {evaluated.executable}:gold: eval_scope is" in ended.err
