"""What is told of mutants that slipped through."""

from __future__ import annotations

from bfcl.authoring.probing.judging import Judged
from bfcl.authoring.probing.mutant import Mutant
from bfcl.authoring.probing.report import Slip
from bfcl.oracle.protocol import AssertionOutcome, EpisodeResult


def slip(*look_at, statuses=("passed",)):
    assertions = tuple(AssertionOutcome(name=f"assert_{status}", status=status) for status in statuses)
    result = EpisodeResult(arguments=(), results=(), states=(), assertions=assertions)
    judged = tuple(
        Judged(
            mutant=Mutant(kind="change_result", what=one, look_at=one, within=" of call 0"),
            verdict="survived",
            result=result,
        )
        for one in look_at
    )
    return Slip(kind="change_result", call=0, judged=judged)


def test_things_to_look_at_are_told_once_and_the_place_at_the_end():
    assert slip("`a`", "`b`", "`a`").look_at() == "`a`, `b` of call 0"


def test_things_beyond_the_wanted_number_are_counted():
    assert slip("`a`", "`b`", "`c`").look_at(2) == "`a`, `b` and 1 more of call 0"
    assert slip("`a`", "`b`").look_at(2) == "`a`, `b` of call 0"


def test_assertions_are_told_by_what_they_came_to():
    one = slip("`a`", "`b`", statuses=("passed", "not_applicable"))
    assert (one.ran("passed"), one.ran("not_applicable")) == (["assert_passed"], ["assert_not_applicable"])
