"""What a manifest counts of all decisions."""

from __future__ import annotations

from bfcl.stages.publication_plan import Gates, publication_plan
from bfcl.stages.tally import tally
from tests.release.samples import decision, decisions


def test_tally_counts_each_stage_once() -> None:
    underived = decision(3, reason="trace_not_derived")._replace(
        trace_drop_reason="dependent_call_binding_failed", schema_valid=False
    )
    variant = decision(4)._replace(canonical=False, has_distractor=False, turn_policy="single_turn")
    twice = decision(5, guards=("must_omit", "must_preserve"))
    all_of = [*decisions(2, rejected=(2,)), underived, variant, twice]
    made = tally(all_of, publication_plan(all_of, Gates()).published)
    assert made._asdict() == {
        "expanded": 5,
        "canonical_expanded": 4,
        "surface_passed": 3,
        "trace_derived": 4,
        "schema_passed": 4,
        "replay_passed": 4,
        "published": 2,
        "guard_rejections": {"read_then_set": 2},
        "guard_counts": {"must_omit": 2, "must_preserve": 1},
        "trace_drops": {"dependent_call_binding_failed": 1},
        "replay_drops": {"trace_not_derived": 1},
        "published_policies": {"confirmation": 1, "single_turn": 1},
        "published_with_distractor": 1,
    }
