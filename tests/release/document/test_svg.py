"""A drawing keeps its shapes and words and nothing else."""

from __future__ import annotations

import pytest

from bfcl.release.document.svg import plain_svg

OPENING = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def test_shapes_and_words_stay() -> None:
    drawing = (
        f'{OPENING} width="10" height="5" viewBox="0 0 10 5" class="marks"><g transform="translate(1,2)">'
        '<path d="M0,0h1v1h-1Z" fill="var(--bar)" aria-label="x"/><text text-anchor="end" fill="currentColor">'
        "a &lt;b&gt; &amp; ب</text></g></svg>"
    )
    assert plain_svg(drawing) == (
        '<svg height="5" viewBox="0 0 10 5" width="10" aria-hidden="true" focusable="false">'
        '<g transform="translate(1,2)"><path d="M0,0h1v1h-1Z" fill="var(--bar)"></path>'
        '<text fill="currentColor" text-anchor="end">a &lt;b&gt; &amp; ب</text></g></svg>'
    )


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<style>*{}</style>",
        '<a xlink:href="https://example.com"><text>x</text></a>',
        '<image xlink:href="https://example.com/x.png"/>',
        "<foreignObject><b>x</b></foreignObject>",
        '<g onclick="x"></g>',
        '<path d=""/>',
    ],
)
def test_what_could_act_or_draws_nothing_goes(inside: str) -> None:
    assert plain_svg(f"{OPENING}>{inside}</svg>") == '<svg aria-hidden="true" focusable="false"></svg>'


@pytest.mark.parametrize("attribute", ['onload="x"', 'style="x"', 'fill="url(https://example.com)"', 'fill="a;b"'])
def test_attribute_that_could_act_goes(attribute: str) -> None:
    kept = '<svg aria-hidden="true" focusable="false"><path d="M0,0"></path></svg>'
    assert plain_svg(f'{OPENING}><path d="M0,0" {attribute}/></svg>') == kept


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    drawing = f"{OPENING}><text>a\x0b\x00b</text></svg>"
    assert plain_svg(drawing) == '<svg aria-hidden="true" focusable="false"><text>a\ufffd\ufffdb</text></svg>'


def test_other_document_is_no_drawing() -> None:
    with pytest.raises(ValueError, match="no drawing: <html>"):
        plain_svg("<html></html>")
