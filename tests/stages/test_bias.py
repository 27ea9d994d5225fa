"""The bias questions a release answers."""

from __future__ import annotations

from bfcl.records.ids import TURN_POLICIES
from bfcl.stages.bias import bias_applicability


def test_bias_applicability_has_exactly_the_keys_of_the_contract() -> None:
    numbers = {f"B{number}" for number in range(1, 17)}
    parts = {f"B3.{policy}" for policy in TURN_POLICIES} | {"B3.distractor_present"}
    assert bias_applicability({}, 0).keys() == numbers | parts


def test_bias_applicability_follows_the_published_rows() -> None:
    made = bias_applicability({"single_turn": 3, "irrelevant": 1}, 2)
    assert made["B3"] == {"status": "applicable", "reason": "2 of 9 turn policies have published rows"}
    assert made["B3.single_turn"] == {
        "status": "applicable",
        "reason": "3 of 4 published rows have this turn policy",
    }
    assert made["B3.correction"] == {"status": "na", "reason": "0 of 4 published rows have this turn policy"}
    assert made["B3.distractor_present"] == {
        "status": "applicable",
        "reason": "2 of 4 published rows show a tool they do not require",
    }


def test_bias_applicability_claims_nothing_that_was_not_examined() -> None:
    made = bias_applicability({"single_turn": 3}, 0)
    assert made["B7"] == {"status": "na", "reason": "no held-out policy, so nothing was reserved or scanned"}
    assert made["B12"] == {"status": "na", "reason": "no measure is defined under B12, so nothing was examined"}
    assert made["B3.distractor_present"] == {
        "status": "na",
        "reason": "0 of 3 published rows show a tool they do not require",
    }
    applicable = sorted(key for key, entry in made.items() if entry["status"] == "applicable")  # type: ignore[index,call-overload]
    assert applicable == ["B3", "B3.single_turn"]


def test_held_out_question_applies_where_a_policy_reserves_something() -> None:
    assert bias_applicability({"single_turn": 3}, 0, 4)["B7"] == {
        "status": "applicable",
        "reason": "the held-out policy reserves 4 rows and templates; every raw row was scanned",
    }
    assert bias_applicability({"single_turn": 3}, 0, 0)["B7"] == {
        "status": "na",
        "reason": "the held-out policy reserves 0 rows and templates; every raw row was scanned",
    }
