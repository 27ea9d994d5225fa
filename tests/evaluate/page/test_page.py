"""The page as a document: nothing from outside, nothing of a model as markup, everything labelled."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections import Counter

import pytest

from bfcl.digest import sha256_bytes
from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.page.page import eval_page
from bfcl.evaluate.score.repeats import repeated
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
    charts = [each for _, each in elements.tags if each.get("class") == "shares"]
    assert len(elements.all("figcaption")) == len(elements.all("figure")) == len(charts)
    assert all(each["aria-hidden"] == "true" for each in charts)
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


FIRST = '<p class="quiet">Counted here: the first trial of each task.</p>'


def parts(html: str) -> dict[str, str]:
    """The page's sections by their ids, and its header."""
    found = dict(re.findall(r'<section id="([a-z]+)"(.*?)</section>', html, re.DOTALL))
    (found["header"],) = re.findall(r"<header>(.*?)</header>", html, re.DOTALL)
    return found


def test_sections_say_which_trials_they_count_where_there_are_several() -> None:
    wrong = ANSWERS["wrong_value"]
    told = [entrant("a", [None, wrong], [[None, None]]), entrant("b", [None, None], [[wrong, None]])]
    found = parts(eval_page(PageData(evaluations=(evaluation("trial", told),))).html.decode())
    first = [name for name, text in found.items() if FIRST in text]
    assert first == ["results", "gates", "kinds", "failures", "header"]
    assert (
        '<p class="quiet">Counted here: every trial that the run did not stop. A task counts for the candidate that '
        "succeeds in the larger share of its own trials; its link opens the first trial, where that failed.</p>"
    ) in found["comparison"]
    assert (
        "<p>Trials planned of each task: <bdi>a</bdi> 2, <bdi>b</bdi> 2. "
        "Counted here: every trial that the run did not stop.</p>"
    ) in found["repeats"]
    assert "Counted here: every call of every trial, those included that the run stopped." in found["cost"]
    assert "Counted here" not in found["provenance"]


def test_comparison_of_repeats_with_none_says_what_a_stop_counts() -> None:
    several, once = entrant("a", [None], [[None]]), entrant("b", [None])
    html = eval_page(PageData(evaluations=(evaluation("x", [several]), evaluation("y", [once])))).html.decode()
    assert "Without repeats, as of <bdi>y:b</bdi>, a task that the run stopped counts as failed." in html


def test_page_without_repeats_says_nothing_of_trials(html: str) -> None:
    assert "Counted here" not in html
    assert "first trial" not in html


def test_repeats_of_one_trial_are_not_told_as_several() -> None:
    one = entrant("a", [None])
    scored = dataclasses.replace(one, repeated=repeated(one.scores, trials=1))
    html = eval_page(PageData(evaluations=(evaluation("trial", [scored]),))).html.decode()
    assert "<p>Repeats are declared, of one trial each: nothing was played twice.</p>" in html
    assert "Counted here" not in html


def test_comparison_says_what_decides_where_p_and_the_interval_disagree(html: str) -> None:
    assert (
        "Whether the two differ, the adjusted p decides; the interval may say otherwise, since it draws whole "
        "templates, and over few of them it is too narrow.</p>"
    ) in html
    assert '<td data-head="p (exact McNemar)"><bdi>0.2500</bdi></td>' in html
    assert re.search(r'<td data-head="95% interval clustered by template"><bdi>[^<]* \(4 templates\)</bdi>', html)


def test_charts_name_their_lines_in_full_and_shorten_what_is_too_long() -> None:
    name = f"{'m' * 40}-{'n' * 40}"
    html = eval_page(page_data({name: [None], "b": [None]})).html.decode()
    assert f'<span class="name" title="{name}"><bdi>{"m" * 31}…{"n" * 32}</bdi></span>' in html
    assert '<span class="group"><bdi>reads</bdi></span>' in html


def test_repeats_have_their_section() -> None:
    wrong = ANSWERS["unreachable"]
    one = entrant("a", [None, wrong], [[None, None]])
    html = eval_page(PageData(evaluations=(evaluation("trial", [one]),))).html.decode()
    assert 'id="repeats"' in html
    assert '<td data-head="k"><bdi>1</bdi></td><td data-head="tasks with k trials"><bdi>2</bdi></td>' in html
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
