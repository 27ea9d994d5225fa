"""What a run comes to: its scope, and whether it may be published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.artifacts.result import Result, scope_of
from bfcl.evaluate.records import Scope
from bfcl.evaluate.settings.model import Mode
from tests.evaluate.measuring import measured, result_of, right
from tests.evaluate.settings.builder import loaded


@pytest.fixture
def result(tmp_path: Path) -> Result:
    one, _, _ = measured(tmp_path, right, trials=None)
    return result_of(tmp_path, one)


@pytest.mark.parametrize(
    ("modes", "scope"),
    [
        (("trace",), "trace"),
        (("executable",), "trace_and_executable"),
        (("trace", "executable"), "trace_and_executable"),
        (("held_out_eval",), "trace_and_executable"),
        (("trace", "held_out_eval"), "trace"),
    ],
)
def test_scope_is_that_of_the_scorer_that_ran(tmp_path: Path, modes: tuple[Mode, ...], scope: Scope) -> None:
    assert scope_of(replace(loaded(tmp_path), modes=modes)) == scope


def test_reasons_against_publication_are_those_of_configuration_and_plan_each_once(result: Result) -> None:
    assert result.scope == "trace"
    assert result.reasons == ("contamination.unresolved:small",)
    assert not result.publishable
    settings = replace(result.settings, non_publication_reasons=("sampling.limited", "a"))
    again = replace(result, settings=settings, plan=replace(result.plan, reasons=("sampling.limited", "b", "b")))
    assert again.reasons == ("a", "b", "sampling.limited")


def test_result_may_be_published_where_configuration_and_plan_both_allow_it(result: Result) -> None:
    allowed = replace(result, plan=replace(result.plan, reasons=()))
    assert allowed.publishable
    assert allowed.reasons == ()


def test_result_may_not_be_published_where_the_configuration_alone_forbids_it(result: Result) -> None:
    settings = replace(result.settings, publication_allowed=False, non_publication_reasons=("sampling.limited",))
    forbidden = replace(result, settings=settings, plan=replace(result.plan, reasons=()))
    assert not forbidden.publishable
    assert forbidden.reasons == ("sampling.limited",)
