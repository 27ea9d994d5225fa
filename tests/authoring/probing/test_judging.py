"""Which mutants are chosen, and what the verdicts add up to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.probing.judging import chosen, score
from bfcl.authoring.probing.mutant import KINDS, Mutant

MUTANTS = st.lists(st.builds(Mutant, kind=st.sampled_from(KINDS), what=st.text(max_size=3), look_at=st.just("")))


@given(MUTANTS, st.integers(1, 5))
def test_chosen_are_at_most_the_limit_of_each_kind_in_the_order_of_kinds(mutants, limit):
    found = chosen(mutants, limit)
    for kind in KINDS:
        of_kind = [mutant for mutant in mutants if mutant.kind == kind]
        kept = [mutant for mutant in found if mutant.kind == kind]
        assert len(kept) == min(limit, len(of_kind))
        assert kept[:1] == of_kind[:1]
        assert all(any(one is mutant for mutant in of_kind) for one in kept)
    assert [KINDS.index(mutant.kind) for mutant in found] == sorted(KINDS.index(mutant.kind) for mutant in found)


@given(MUTANTS)
def test_chosen_are_all_where_the_limit_allows(mutants):
    assert sorted(map(id, chosen(mutants, len(mutants) + 1))) == sorted(map(id, mutants))


def test_score_is_the_share_of_killed_among_those_that_count():
    assert score({"killed": 2, "survived": 1, "equivalent": 5, "tolerated": 5, "broken": 5}) == 0.6667
    assert score({"killed": 0, "survived": 0, "equivalent": 1}) is None
