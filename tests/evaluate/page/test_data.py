"""What candidates are called on a page."""

from __future__ import annotations

import dataclasses

from bfcl.evaluate.page.data import PageData
from tests.evaluate.page.pages import entrant, evaluation, page_data


def test_candidates_of_one_evaluation_are_called_by_their_alias() -> None:
    assert [one.label for one in page_data({"b": [None], "a": [None]}).labelled()] == ["a", "b"]


def test_candidates_of_several_evaluations_are_called_by_both_names() -> None:
    same = entrant("a", [None])
    data = PageData(evaluations=(evaluation("one", [same]), evaluation("two", [same])))
    labels = [one.label for one in data.labelled()]
    assert labels == ["one:a", "two:a"]
    assert [one.side.name for one in data.labelled()] == ["/nowhere/one:a", "/nowhere/two:a"]
    assert dataclasses.replace(data, evaluations=data.evaluations[:1]).labelled()[0].label == "a"
