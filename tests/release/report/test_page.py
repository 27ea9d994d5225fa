"""The page as a document: nothing from outside, nothing of a pack as markup, everything labelled."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest

from bfcl.canonical import Json
from bfcl.digest import sha256_bytes
from bfcl.release.read import Release
from bfcl.release.report.facts import Timing
from bfcl.release.report.page import report_page
from tests.release.document.elements import Elements
from tests.release.report import releases

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

TIMING = Timing(seconds={"read_then_set": 1.25}, templates=2)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with lost tasks, one of them hostile."""
    lost = [*releases.lost_tasks(), releases.hostile_task()]
    release = releases.release(tmp_path_factory.mktemp("page") / "demo", lost)
    return report_page(release, TIMING).html.decode()


@pytest.fixture(scope="module")
def elements(html: str) -> Elements:
    return Elements(html)


def test_texts_of_a_pack_are_never_markup(html: str, elements: Elements) -> None:
    assert releases.MARKUP not in html
    assert "&lt;/script&gt;&lt;img" in html
    assert len(elements.all("script")) == 2
    assert elements.all("img") == []
    assert not any(name.startswith("on") for _, attributes in elements.tags for name in attributes)
    assert not any("style" in attributes for _, attributes in elements.tags)


def test_page_refers_to_nothing_outside(elements: Elements) -> None:
    links = [value for _, attributes in elements.tags for key in ("href", "src") if (value := attributes.get(key))]
    assert links
    assert all(link.startswith("#") for link in links)
    assert elements.all("link") == []
    style = "".join(elements.texts["style"])
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_this_style_and_this_script_alone(elements: Elements) -> None:
    (policy,) = [
        each["content"] for each in elements.all("meta") if each.get("http-equiv") == "Content-Security-Policy"
    ]
    data, script = elements.texts["script"]
    (style,) = elements.texts["style"]

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(sha256_bytes(text.encode())).decode() + "'"

    assert policy == (
        f"default-src 'none'; connect-src 'none'; img-src 'none'; style-src {digest(style)}; "
        f"script-src {digest(script)}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", data)
    assert elements.all("script")[0]["type"] == "application/gzip+base64"


def test_every_section_and_table_and_field_has_a_name(elements: Elements) -> None:
    ids = [value for _, attributes in elements.tags if (value := attributes.get("id"))]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    for section in elements.all("section"):
        assert section["aria-labelledby"] in ids
    for link in elements.all("nav") + elements.all("form"):
        assert link["aria-label"]
    assert len(elements.all("main")) == len(elements.all("header")) == len(elements.all("footer")) == 1
    assert len(elements.all("label")) == len(elements.all("select")) + len(elements.all("input"))
    assert len(elements.all("caption")) == len(elements.all("table"))
    assert len(elements.all("figcaption")) == len(elements.all("figure")) == len(elements.all("svg"))
    assert all(each["aria-hidden"] == "true" for each in elements.all("svg"))
    anchors = [link["href"] for link in elements.all("a")]
    assert all(anchor[1:] in ids for anchor in anchors if anchor and "=" not in anchor)


def test_page_names_numbers_and_origin(html: str) -> None:
    for told in (
        "<h1><bdi>demo</bdi></h1>",
        "gold eligible",
        "demo-20260102T030405678901Z-0123456789ab-" + "f" * 32,
        "for 1 of 2 templates",
        "render: <bdi>must_omit</bdi> (1)",
        "<bdi>expected_trace_schema_mismatch (1)</bdi>",
        "Not in this run: Held-out material, Surface quality, Deduplication and balancing, Exports.",
        "sha256:",
    ):
        assert told in html


def test_unknown_timing_is_said_plainly(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo")
    said = "No timing is known: no build log here tells of the invocation that computed these replays."
    assert said in report_page(release, Timing(seconds={}, templates=3)).html.decode()


def test_same_time_for_all_templates_makes_no_chart(tmp_path: Path) -> None:
    timing = Timing(seconds={"read_then_set": 0.25, "another": 0.25}, templates=3)
    html = report_page(releases.release(tmp_path / "demo"), timing).html.decode()
    assert (
        "<p>The build log has the same time, 0.250 s, for all of the 2 templates it tells of (3 have replays). "
        "There is nothing to compare, so the chart is left out.</p>"
    ) in html
    assert "Replay time by template" not in html


def balanced(release: Release, **members: Json) -> str:
    """The page of the release as if balancing had reported this."""
    block = {"enabled": True, "report": {"by_template": {"read_then_set": {"selected": 4}}, **members}}
    return report_page(
        dataclasses.replace(release, manifest={**release.manifest, "semantic_deduplication": block})
    ).html.decode()


def test_missed_targets_are_told_first(tmp_path: Path) -> None:
    missed = {"dimension": "publication_count", "bucket": "all", "target": 90, "actual": 52, "inventory": 78}
    html = balanced(
        releases.release(tmp_path / "demo"),
        counts={"selected": 52},
        target_counts={"publication_count": 90, "budget": 52, "turn_class": {"multi_turn": 26}},
        actual_counts={"turn_class": {"multi_turn": 26, "<i>": 26}},
        inventory_counts={"turn_class": {"multi_turn": 30, "<i>": 48}},
        unmet_targets=[{**missed, "reason": "declared_mix_exceeds_inventory"}],
    )
    head, rest = html.split('<section id="funnel"')
    assert (
        '<span class="badge bad">52 of 90 asked for; <a href="#targets">missed: <bdi>publication count</bdi></a></span>'
    ) in head.split("</header>")[0]
    assert '<li><a href="#targets">Missed targets</a></li>' in head
    assert (
        '<tr><th scope="row"><bdi>publication count</bdi></th><td><bdi>all</bdi></td><td><bdi>90</bdi></td>'
        "<td><bdi>52</bdi></td><td><bdi>78</bdi></td><td><bdi>the number was lowered until there were enough rows for "
        "every share of the mixes (declared_mix_exceeds_inventory)</bdi></td></tr>"
    ) in head
    assert (
        '<tr><th scope="row"><bdi>multi_turn</bdi></th><td><bdi>26</bdi></td><td><bdi>26</bdi></td>'
        "<td><bdi>30</bdi></td></tr>"
    ) in rest
    assert '<tr><th scope="row"><bdi>report.target_counts.budget</bdi></th><td><bdi>52</bdi></td></tr>' in rest
    for listed in ("by_template", "unmet_targets", "actual_counts", "inventory_counts"):
        assert f"report.{listed}" not in html
    assert 'Losses by template are in the <a href="#funnel">funnel</a>' in rest


def test_met_targets_have_no_section(tmp_path: Path) -> None:
    html = balanced(
        releases.release(tmp_path / "demo"),
        counts={"selected": 1200},
        target_counts={"publication_count": 1200},
        unmet_targets=[],
    )
    assert '<span class="badge good">1,200 of 1,200 asked for</span>' in html
    assert '#targets"' not in html
    assert 'id="targets"' not in html


def test_blocks_of_the_manifest_are_shown_whatever_they_hold(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo")
    report = {"kept": 3, "unmet_targets": [{"dimension": "turn_policy", "bucket": "<b>"}]}
    block = {"enabled": True, "contract_version": "1.1", "report": report}
    release = dataclasses.replace(release, manifest={**release.manifest, "surface_quality_validation": block})
    html = report_page(release).html.decode()
    assert '<tr><th scope="row"><bdi>report.kept</bdi></th><td><bdi>3</bdi></td></tr>' in html
    assert '<tr><th scope="row"><bdi>turn_policy</bdi></th><td><bdi>&lt;b&gt;</bdi></td></tr>' in html
    assert "Not in this run: Held-out material, Deduplication and balancing, Exports." in html


def test_sample_is_announced(tmp_path: Path) -> None:
    page = report_page(releases.release(tmp_path / "demo", releases.lost_tasks()), limit=4)
    assert (page.conversations, page.tasks) == (4, 8)
    assert "A sample of 4 of 8 tasks" in page.html.decode()


def test_same_run_gives_the_same_bytes_wherever_it_lies(tmp_path: Path) -> None:
    pages = [report_page(releases.release(tmp_path / place / "demo"), TIMING).html for place in ("a", "b")]
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]
