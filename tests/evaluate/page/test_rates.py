"""Rates of candidates, gates and kinds of task, with and without what the candidate did not stop."""

from __future__ import annotations

from bfcl.evaluate.page.rates import GateRate, by_kind, gate_rates, headline, shares
from bfcl.evaluate.score.breakdowns import clusters
from bfcl.evaluate.score.intervals import cluster_bootstrap, wilson
from bfcl.evaluate.score.rates import Rate
from tests.evaluate.page.pages import Told, page_data
from tests.evaluate.score.episodes import ANSWERS

MIXED: list[Told] = [None, ANSWERS["wrong_value"], ANSWERS["unreachable"], None, ANSWERS["words"]]


def test_standing_tells_the_rate_with_and_without_stops_of_the_run() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    found = shares(one.entrant.scores)
    assert (found.all, found.own, found.stops) == (
        Rate(successes=2, tasks=5),
        Rate(successes=2, tasks=4),
        1,
    )
    assert (found.all.share, found.all.interval) == (0.4, wilson(2, 5))


def test_headline_is_clustered_as_the_breakdowns_are() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    found = headline(one)
    assert found.label == "a"
    assert found.clustered == cluster_bootstrap(clusters(one.entrant.scores, one.evaluation.kinds))
    assert found.clustered.clusters == 4


def test_gate_rates_are_over_the_tasks_a_gate_applies_to_and_say_who_failed() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    found = {rate.gate: rate for rate in gate_rates(one.entrant.scores)}
    assert list(found)[:3] == ["tool_selection", "arguments", "schema_valid"]
    assert found["arguments"] == GateRate(
        gate="arguments", rate=Rate(successes=2, tasks=5), candidate=2, other=1, not_applicable=0
    )
    schema = found["schema_valid"]
    assert schema.rate.tasks + schema.not_applicable == 5
    assert schema.not_applicable == 2


def test_kinds_split_the_tasks_and_open_values_come_first() -> None:
    (one,) = page_data({"a": MIXED}).labelled()
    found = by_kind(one, "difficulty")
    assert {value: (each.all.successes, each.all.tasks) for value, each in found.items()} == {
        None: (2, 2),
        "easy": (0, 2),
        "hard": (0, 1),
    }
    assert list(found) == [None, "easy", "hard"]
