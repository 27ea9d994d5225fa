"""The page of evaluations in a real browser: it finds failed tasks, runs nothing of a model, and asks nobody.

Chromium is told where to begin by the page's own address (`#gate=...&task=...`) and prints the document it
ends up with.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.page.page import eval_page
from bfcl.evaluate.records import Script
from tests.evaluate.after.finishing import finish, gold
from tests.evaluate.driven import Message, calls, wire_call, words
from tests.evaluate.page.pages import MARKUP, Told, alike, evaluation, page_data, task_id
from tests.evaluate.score.episodes import ANSWERS
from tests.evaluate.source.builder import site_of
from tests.system.browser import CHROMIUM, Shown, asked, browse
from tests.system.project import PATIENCE_S, REPOSITORY, Project

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

HOSTILE = f"{MARKUP}<img src='https://hostile.invalid/x'>"


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Path]:
    """A new profile of the browser, which leaves much behind."""
    directory = tmp_path / "profile"
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def hostile(script: Script, turn: int) -> Message:
    """A model that answers in markup: words where a call is expected, a call of a strange tool where words are."""
    if script.turns[turn].calls:
        return words(HOSTILE)
    return calls(wire_call(HOSTILE, {HOSTILE: HOSTILE}, call_id="x"), content=HOSTILE)


@pytest.fixture(scope="module")
def evaluated_page(original: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a published run, evaluated with the oracle and told of by the command, as a person does."""
    root = tmp_path_factory.mktemp("page")
    site = site_of(original, root / "site")
    out = finish(site, {"gold": gold, "hostile": hostile}, executable=True)
    subprocess.run(
        [sys.executable, "-m", "bfcl", "eval-report", str(out), "--output", str(root / "page.html")],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(path for path in (str(REPOSITORY), *sys.path) if path)},
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return root / "page.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 80 tasks, two candidates with 60 and 2 failures."""
    novice: list[Told] = [
        ANSWERS["unreachable"] if number % 20 == 3 else None if number % 4 == 0 else ANSWERS["wrong_value"]
        for number in range(80)
    ]
    other: list[Told] = [ANSWERS["permuted"], ANSWERS["undeclared_tool"], *[None] * 78]
    path = tmp_path_factory.mktemp("built") / "page.html"
    path.write_bytes(eval_page(page_data({"novice": novice, "other": other})).html)
    return path


def headings(shown: Shown) -> list[str]:
    """Of the groups in the list."""
    return re.findall(r"<h3>([a-z_]+: [0-9,]+ failed tasks?)</h3>", shown.dom)


def test_failures_are_listed_by_first_failing_gate_and_built_when_opened(page: Path, profile: Path) -> None:
    shown = browse(page, profile)
    assert shown.console == []
    assert shown.count == "62 of 62 failed tasks"
    assert headings(shown) == ["tool_selection: 5 failed tasks", "arguments: 56 failed tasks"]
    assert len(shown.tasks) == 25
    assert shown.opened == 0
    assert '<span id="page">Page 1 of 3</span>' in shown.dom
    assert re.search(r'<p id="notice" class="notice" role="alert" hidden=""></p>', shown.dom)


def test_address_filters_by_gate_candidate_and_who_is_answerable(page: Path, profile: Path) -> None:
    shown = browse(page, profile, "#gate=tool_selection&answerable=infrastructure&candidate=novice")
    assert shown.console == []
    assert shown.tasks == [f"novice {task_id(number)}" for number in (3, 23, 43, 63)]
    assert headings(shown) == ["tool_selection: 4 failed tasks"]


def test_opened_failure_shows_conversation_and_diff_in_words(page: Path, profile: Path) -> None:
    shown = browse(page, profile, "#task=novice+plant__0079")
    assert shown.console == []
    assert shown.opened == 1
    (task,) = re.findall(r'<div class="task">.*?</ol>', shown.dom, re.DOTALL)
    for told in (
        "<dt>went wrong first</dt><dd>assistant turn 1 of 2: a call has other arguments than expected</dd>",
        "<dt>first failing gate</dt><dd>arguments (arguments.mismatch)</dd>",
        "<dt>answerable</dt><dd>candidate</dd>",
        '<span class="who">user</span>',
        "<caption>Call that departs: <code><strong>read_valve</strong></code></caption>",
        '<td data-side="expected"><pre dir="ltr">"V-0"</pre></td><td data-side="actual"><pre dir="ltr">"V-9"</pre></td>'
        '<td class="verdict differs">differs</td>',
        "<caption>Call that fits: <code><strong>read_valve</strong></code></caption>",
    ):
        assert told in task


def test_only_find_is_opened_and_near_misses_are_tagged(page: Path, profile: Path) -> None:
    shown = browse(page, profile, "#near=order_only")
    assert shown.console == []
    assert shown.count == "1 of 62 failed tasks"
    assert shown.opened == 1
    assert headings(shown) == ["call_ordering: 1 failed task"]
    assert '<span class="about tag">near miss: order_only</span>' in shown.dom


def test_text_of_a_model_is_shown_and_never_run(evaluated_page: Path, profile: Path, tmp_path: Path) -> None:
    log = tmp_path / "net.json"
    shown = browse(evaluated_page, profile, "#q=hostile.invalid&page=1", f"--log-net-log={log}")
    assert shown.console == []
    (first, *_) = shown.tasks
    shown = browse(evaluated_page, profile, f"#task={first}", f"--log-net-log={log}")
    assert shown.console == []
    assert shown.opened == 1
    assert "<img" not in shown.dom
    assert shown.dom.count("<script") == 2
    assert escape(HOSTILE, quote=False) in shown.dom
    assert not asked(log)


def test_numbers_of_a_run_evaluation_are_in_the_page_without_the_script(evaluated_page: Path) -> None:
    html = evaluated_page.read_text(encoding="utf-8")
    for told in (
        "trace_and_executable",
        "<bdi>gold against hostile</bdi>",
        "Calls of each candidate",
        "measurement_hash",
    ):
        assert told in html


def test_page_of_thousands_of_failures_opens_with_one_page_of_them(tmp_path: Path, profile: Path) -> None:
    path = tmp_path / "large.html"
    entrants = [alike(alias, ANSWERS["wrong_value"], 1_392) for alias in ("a", "b", "c")]
    page = eval_page(PageData(evaluations=(evaluation("large", entrants),)))
    assert (page.shown, page.failures) == (4_176, 4_176)
    path.write_bytes(page.html)
    assert path.stat().st_size < 4 << 20
    shown = browse(path, profile, "#candidate=b&q=plant__1391")
    assert shown.console == []
    assert shown.tasks == ["b plant__1391"]
    assert shown.opened == 1


def test_address_of_a_gate_without_failures_shows_none_and_says_so(page: Path, profile: Path) -> None:
    shown = browse(page, profile, "#gate=schema_valid&candidate=novice")
    assert shown.console == []
    assert (shown.count, shown.tasks) == ("0 of 62 failed tasks", [])
    assert (
        "<p>No failed task on this page has candidate: novice; first failing gate: schema_valid.</p>"
        '<button type="button">Show all failed tasks</button>'
    ) in shown.dom


def test_address_that_comes_to_name_no_failure_shows_none_until_all_are_asked_for(page: Path, profile: Path) -> None:
    """The page's own script is followed by one that does what a person does."""
    html = page.read_text(encoding="utf-8")
    steps = (
        "<script>const until = (ready, then) => ready() ? then() : setTimeout(() => until(ready, then), 20);"
        "const told = () => document.getElementById('count').textContent;"
        "const note = () => { document.body.dataset.steps = (document.body.dataset.steps ?? '') + told() + '|'; };"
        "until(told, () => { note(); location.hash = 'template=gone';"
        "until(() => told().startsWith('0 '), () => { note(); document.querySelector('#results-list button').click();"
        "until(() => told().startsWith('62 '), note); }); });</script></body>"
    )
    acted = profile.parent / "acted.html"
    acted.write_text(without_policy(html).replace("</body>", steps), encoding="utf-8")
    shown = browse(acted, profile)
    assert shown.console == []
    assert 'data-steps="62 of 62 failed tasks|0 of 62 failed tasks|62 of 62 failed tasks|"' in shown.dom


def test_failures_are_found_by_what_went_wrong_first(page: Path, profile: Path) -> None:
    shown = browse(page, profile, "#what=it+called+another+tool+than+expected")
    assert shown.console == []
    assert shown.tasks == [f"other {task_id(1)}"]
    assert (
        '<span class="about wrong">went wrong first: assistant turn 1 of 2: it called another tool than expected</span>'
        in shown.dom
    )


def without_policy(html: str) -> str:
    """The page without the rule that lets no other script run."""
    open_page = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", html)
    assert open_page != html
    return open_page


@pytest.mark.parametrize("width", [500, 1200])
def test_charts_fill_their_cards_and_show_names_bars_and_values(tmp_path: Path, profile: Path, width: int) -> None:
    """Measured by the browser, with its own fonts."""
    names = ("tiny-765d849f5a630c70:some-model-3.1-70b-instruct-turbo", "other-model-2.5-coder-32b-instruct-awq")
    data = page_data({name: [ANSWERS["wrong_value"], None] for name in names})
    html = eval_page(data).html.decode()
    measured = tmp_path / "measured.html"
    script = (
        "<script>for (const chart of document.querySelectorAll('.shares')) { const box = chart.getBoundingClientRect();"
        "const card = chart.closest('figure').clientWidth;"
        "const inside = [...chart.children].every((each) => { const own = each.getBoundingClientRect();"
        "return own.width > 0 && own.left >= box.left - 1 && own.right <= box.right + 1; });"
        "const track = chart.querySelector('.track').getBoundingClientRect().width;"
        "chart.setAttribute('data-fits', inside && box.width > .85 * card && track > .25 * card ? 'yes' : 'no'); }"
        "for (const cell of document.querySelectorAll('#comparison > .scroll td'))"
        "cell.setAttribute('data-seen', cell.getBoundingClientRect().right <= innerWidth ? 'yes' : 'no');"
        "document.body.setAttribute('data-over', document.documentElement.scrollWidth - innerWidth);</script></body>"
    )
    measured.write_text(without_policy(html).replace("</body>", script), encoding="utf-8")
    dom = browse(measured, profile, "", f"--window-size={width},2000").dom
    assert dom.count('data-fits="yes"') == len(names) + 7
    assert 'data-fits="no"' not in dom
    assert dom.count('data-seen="yes"') == 9
    assert 'data-seen="no"' not in dom
    assert re.search(r'data-over="(-[0-9]+|0)"', dom)
