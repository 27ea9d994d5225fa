"""The page as a document: nothing from outside, nothing of a model as markup, everything labelled."""

from __future__ import annotations

import base64
import re
from collections import Counter

import pytest

from bfcl.digest import sha256_bytes
from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.page.page import eval_page
from tests.evaluate.page.pages import MARKUP, Told, entrant, evaluation, hostile, page_data
from tests.evaluate.score.episodes import ANSWERS
from tests.release.document.elements import Elements

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

ANSWERED: list[Told] = [None, ANSWERS["wrong_value"], ANSWERS["unreachable"], hostile()]


@pytest.fixture(scope="module")
def html() -> str:
    """Two candidates, one of them hostile, in an evaluation with a hostile name."""
    entrants = [entrant("novice", ANSWERED), entrant("potter", [None] * 4)]
    return eval_page(PageData(evaluations=(evaluation(MARKUP, entrants),))).html.decode()


@pytest.fixture(scope="module")
def elements(html: str) -> Elements:
    return Elements(html)


def test_texts_of_models_and_names_are_never_markup(html: str, elements: Elements) -> None:
    assert MARKUP not in html
    assert "&lt;/script&gt;&lt;img" in html
    assert len(elements.all("script")) == 2
    assert elements.all("img") == []
    assert not any(name.startswith("on") for _, attributes in elements.tags for name in attributes)
    assert not any("style" in attributes for _, attributes in elements.tags)


def test_page_refers_to_nothing_outside(elements: Elements) -> None:
    links = [value for _, attributes in elements.tags for key in ("href", "src") if (value := attributes.get(key))]
    assert links
    assert all(link.startswith("#") for link in links)
    style = "".join(elements.texts["style"])
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_this_style_and_this_script_alone(elements: Elements) -> None:
    (policy,) = [
        each["content"] or "" for each in elements.all("meta") if each.get("http-equiv") == "Content-Security-Policy"
    ]
    _, script = elements.texts["script"]
    (style,) = elements.texts["style"]
    for text in (style, script):
        assert "'sha256-" + base64.b64encode(sha256_bytes(text.encode())).decode() + "'" in policy
    assert policy.startswith("default-src 'none'; connect-src 'none'; ")


def test_every_section_and_table_and_field_has_a_name(elements: Elements) -> None:
    ids = [value for _, attributes in elements.tags if (value := attributes.get("id"))]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    for section in elements.all("section"):
        assert section["aria-labelledby"] in ids
    assert len(elements.all("main")) == len(elements.all("header")) == len(elements.all("footer")) == 1
    assert len(elements.all("label")) == len(elements.all("select")) + len(elements.all("input"))
    assert len(elements.all("caption")) == len(elements.all("table"))
    assert len(elements.all("figcaption")) == len(elements.all("figure")) == len(elements.all("svg"))
    anchors = [link["href"] or "" for link in elements.all("a")]
    assert all(anchor[1:] in ids for anchor in anchors if "=" not in anchor)


def test_page_says_what_its_number_is(html: str) -> None:
    for told in (
        '<tr><th scope="row">benchmark: run</th><td><bdi><code>plant-run</code></bdi></td></tr>',
        f"<code>{sha256_bytes(b'measurement').hex()}".replace("<code>", "<code>sha256:"),
        "equal for every evaluation of it",
        "<code>trace</code>: calls are compared",
        "<code>trace_only</code>: stands for scope `trace`",
        "Publication is not allowed, because of: <code>publication.requested</code>.",
        "the rate without them stands beside the first and never replaces it",
    ):
        assert told in html


def test_results_come_first_and_what_they_are_of_comes_last(html: str, elements: Elements) -> None:
    order = [section["aria-labelledby"] for section in elements.all("section")]
    assert order == [
        "results-title",
        "gates-title",
        "kinds-title",
        "comparison-title",
        "cost-title",
        "failures-title",
        "provenance-title",
    ]
    results, provenance = html.index('id="results-title"'), html.index('id="provenance-title"')
    for told in ("sha256:", "benchmark: run", "equal for every evaluation of it"):
        assert told not in html[html.index("<main") : results]
        assert html.index(told, html.index("<main")) > provenance
    assert results < html.index("What this number is") < html.index('id="gates-title"')


def test_allowed_publication_is_said() -> None:
    html = eval_page(page_data({"a": [None]}, publication_allowed=True, non_publication_reasons=[])).html.decode()
    assert '<span class="badge good">publication allowed</span>' in html
    assert "Publication is allowed: configuration and plan both hold to every rule of it." in html
    assert "not allowed" not in html


def test_failures_are_counted_by_first_gate_with_a_link_to_them(html: str) -> None:
    assert (
        '<tr><th scope="row"><a href="#gate=arguments&amp;answerable=candidate&amp;candidate=novice">arguments</a></th>'
        "<td>candidate</td><td><bdi>novice</bdi></td><td>1</td></tr>"
    ) in html
    assert "3 of 3" not in html


def test_flips_lead_to_the_failure_of_the_other(html: str) -> None:
    assert "<p>Tasks on which <bdi>potter</bdi> does better: 3</p>" in html
    assert '<li><a href="#task=novice+plant__0001"><bdi>plant__0001</bdi></a></li>' in html
    assert "<p>Tasks on which <bdi>novice</bdi> does better: 0</p>" in html


def test_one_candidate_has_no_comparison_and_without_trials_no_repeats() -> None:
    html = eval_page(page_data({"a": [None, None]})).html.decode()
    assert "#comparison" not in html.split("</style>")[1].split("<script>")[0]
    assert 'id="repeats"' not in html
    assert "<p>No task failed.</p>" in html


def test_repeats_have_their_section() -> None:
    wrong = ANSWERS["unreachable"]
    one = entrant("a", [None, wrong], [[None, None]])
    html = eval_page(PageData(evaluations=(evaluation("trial", [one]),))).html.decode()
    assert 'id="repeats"' in html
    assert "<td><bdi>1</bdi></td><td><bdi>2</bdi></td>" in html
    assert "Trials of <bdi>a</bdi> that the run stopped, which are not counted: 1" in html


def test_evaluations_that_differ_say_in_what() -> None:
    one = entrant("a", [None])
    data = PageData(evaluations=(evaluation("x", [one]), evaluation("y", [one], source_identity="sha256:other")))
    html = eval_page(data).html.decode()
    assert "Not compared: <bdi>x:a</bdi> and <bdi>y:a</bdi>, which differ in: source_identity." in html
    assert re.search(r"<h1>Evaluation: <bdi>x, y</bdi></h1>", html)


def test_page_of_too_many_failures_says_that_it_is_a_sample() -> None:
    page = eval_page(page_data({"a": [ANSWERS["wrong_value"]] * 12}), limit_bytes=8_000)
    assert 0 < page.shown < page.failures == 12
    assert f"A sample of {page.shown} of 12 failed tasks" in page.html.decode()


def test_same_evaluations_give_the_same_bytes() -> None:
    assert eval_page(page_data({"a": ANSWERED})).html == eval_page(page_data({"a": ANSWERED})).html


def test_tasks_that_the_run_stopped_are_told_above_every_number() -> None:
    gone = ANSWERS["unreachable"]
    html = eval_page(page_data({"dead": [gone] * 2, "good": [None] * 2, "shaky": [None, gone]})).html.decode()
    notices = re.findall(r'<p class="notice"><strong>(.*?)</p>', html)
    assert notices == [
        "<bdi>dead</bdi>: 2 of 2 tasks ended for reasons that are not the candidate's</strong>, and count as failed "
        "in the results below: nothing of this candidate was measured. As recorded: "
        "<bdi>candidate_call_failed, 2 times</bdi>.",
        "<bdi>shaky</bdi>: 1 of 2 tasks ended for reasons that are not the candidate's</strong>, and count as failed "
        "in the results below. As recorded: <bdi>candidate_call_failed</bdi>.",
    ]
    assert html.index(notices[-1]) < html.index('<dl class="numbers">') < html.index('id="results-title"')


def test_page_without_stopped_tasks_has_no_such_notice() -> None:
    html = eval_page(page_data({"a": [None, ANSWERS["wrong_value"]]})).html.decode()
    assert "ended for reasons that are not" not in html
