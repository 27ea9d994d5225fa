"""What was full where a row that was not selected would have gone? Rule: generation.md §3.8.8, `balance_dimension`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.dimensions import DIMENSIONS, GROUPS, counts, intent_bucket
from bfcl.stages.balancing.quotas import apportioned
from bfcl.stages.balancing.terms import Terms, intent_allowance, tool_call_rows

PUBLICATION_COUNT: Final = "publication_count"


def balance_dimension(selected: Sequence[Candidate], terms: Terms) -> Callable[[Candidate], str]:
    """A function from an unselected candidate to the dimension it is left out by.

    The first of these that one more row would bring above its bound: groups with a cap (exact surface, intent,
    execution case), category, intent within its category, difficulty, turn class, turn policy, tool call count. Where
    none would, the selection had all its rows: `publication_count`.
    """
    groups = {name: counts(selected, GROUPS[name]) for name in terms.caps}
    categories = counts(selected, DIMENSIONS["category"])
    pairs = counts(selected, intent_bucket)
    mixes = {dimension: counts(selected, DIMENSIONS[dimension]) for dimension in terms.quotas}
    calls = counts(selected, DIMENSIONS["tool_call_count"])
    wanted = apportioned(terms.tool_calls, tool_call_rows(calls, terms))

    def dimension_of(candidate: Candidate) -> str:
        for name, cap in terms.caps.items():
            if groups[name].get(GROUPS[name](candidate), 0) >= cap:
                return name
        in_category = categories.get(candidate.category, 0)
        if in_category >= terms.category_cap:
            return "category"
        share = terms.intent_share
        if share is not None and pairs.get(intent_bucket(candidate), 0) >= intent_allowance(share, in_category + 1):
            return "intent"
        for dimension, quotas in terms.quotas.items():
            bucket = DIMENSIONS[dimension](candidate)
            if mixes[dimension].get(bucket, 0) >= quotas.get(bucket, 0):
                return dimension
        bucket = candidate.tool_call_bucket
        if bucket in wanted and calls.get(bucket, 0) >= wanted[bucket]:
            return "tool_call_count"
        return PUBLICATION_COUNT

    return dimension_of
