"""What counts as words in the content of a reply."""

from __future__ import annotations

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.compare.words import in_words, spoken


@pytest.mark.parametrize(
    "content",
    [
        "Done.",
        ["Done."],
        [{"type": "text", "text": "Done."}],
        {"content": "Done."},
        {"output_text": "Done."},
        {"parts": [{"text": {"value": "Done."}}]},
        [None, 1, {"text": " "}, {"text": "Done."}],
    ],
)
def test_words_are_found_wherever_a_provider_puts_them(content: Json) -> None:
    assert in_words(content)
    assert spoken(content).strip() == "Done."


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        " \n\t",
        [],
        [" "],
        {},
        {"type": "text"},
        {"type": "text", "text": ""},
        {"reasoning": "Done."},
        {"text": {"thinking": "Done."}},
        7,
        True,
    ],
)
def test_words_are_not_found_in_content_without_text(content: Json) -> None:
    assert not in_words(content)


def test_spoken_keeps_the_order_of_parts() -> None:
    assert spoken(["a", {"text": "b", "content": ["c", "d"]}, "e"]) == "acdbe"


def test_spoken_reads_any_depth() -> None:
    content: Json = "deep"
    for _ in range(20_000):
        content = [content]
    assert spoken(content) == "deep"
