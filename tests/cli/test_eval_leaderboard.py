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
    head, line, ranks = ended.out.splitlines()
    assert head.split() == ["rank", "candidate", "model", "success", "tasks", "stopped", "95", "%", "by", "template"]
    assert line.split()[:3] == ["1", "solo", f"hub:org/solo@{'ab' * 20}"]
    assert line.split()[5] == "0"
    assert ranks == (
        "ranks: a candidate shares the rank of the first one ahead that it cannot be told from: exact McNemar, Holm "
        "over all pairs"
    )


def test_eval_leaderboard_tells_tasks_that_were_stopped_and_what_they_count_as(
    bfcl: Bfcl, evaluated: Evaluated
) -> None:
    ended = bfcl("eval-leaderboard", str(evaluated.trace), "--format", "text")
    assert ended.status == 0
    _, *lines, ranks, note = ended.out.splitlines()
    stops = {line.split()[1]: line.split()[5] for line in lines}
    assert stops == {"gold": "0", "lower": "0", "mute": "0", "gone": "10"}
    assert ranks.startswith("ranks: a candidate shares the rank ")
    assert note == (
        "stopped: tasks that ended for reasons that are not the candidate's; they count as failed, and the rate says "
        "less of the candidate the more there are"
    )


def test_eval_leaderboard_refuses_other_scopes_by_name(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-leaderboard", str(evaluated.solo), str(evaluated.executable), "--format", "text")
    assert (ended.status, ended.out) == (3, "")
    assert f"leaderboard_ineligible: {evaluated.executable}:gold: eval_scope is" in ended.err
