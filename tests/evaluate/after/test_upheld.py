"""Results are held against others only once their own records give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.evaluate.after.upheld import has_records, require_upheld
from bfcl.pack.layout import shown
from tests.evaluate.after.finishing import DEPARTURES, Data, Evaluated, finish
from tests.evaluate.after.forging import succeed
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]


@pytest.mark.parametrize(
    ("executable", "kept", "told"),
    [
        (False, "cache_candidate_responses", True),
        (False, None, False),
        (True, "cache_candidate_responses", False),
    ],
)
def test_evaluation_has_records_where_its_configuration_kept_all_that_its_scores_are_made_of(
    evaluated: Evaluated, executable: bool, kept: str | None, told: bool
) -> None:
    def configure(config: Data) -> None:
        config["publication"]["requested"] = False
        for name in ("cache_candidate_responses", "cache_tool_results"):
            config["outputs"][name] = name == kept

    name = f"kept-{executable}-{kept}"
    done = finish(evaluated.site, {"solo": DEPARTURES["gold"]}, configure, name=name, executable=executable)
    assert has_records(done) is told


def test_executable_evaluation_that_kept_both_records_has_them(evaluated: Evaluated) -> None:
    assert has_records(evaluated.executable)


def test_results_are_upheld_as_long_as_their_records_give_them(evaluated: Evaluated, copied: Copied) -> None:
    own = copied(evaluated.solo)
    require_upheld([evaluated.trace, own])
    succeed(own)
    told = {str(problem.path).rpartition("/")[0] for problem in refused(lambda: require_upheld([evaluated.trace, own]))}
    assert told == {shown(own)}


def test_everything_that_does_not_hold_of_several_is_told_at_once_and_each_once(
    evaluated: Evaluated, copied: Copied
) -> None:
    forged, damaged = copied(evaluated.solo), copied(evaluated.repeated)
    succeed(forged)
    (damaged / "candidate_io_cache.jsonl").unlink()
    problems = refused(lambda: require_upheld([forged, damaged, forged]))
    assert [(problem.code, Path(str(problem.path)).parent.name) for problem in problems] == [
        ("eval_artifact_invalid", forged.name),
        ("eval_artifact_invalid", forged.name),
        ("eval_artifact_invalid", damaged.name),
    ]
