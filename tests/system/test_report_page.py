"""The page of a run in a real browser: it finds conversations, runs nothing of a pack, and asks nobody for anything.

Chromium is told where to begin by the page's own address (`#q=...&task=...`) and prints the document it ends up with.
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

from tests.release.report import releases
from tests.system.browser import CHROMIUM, asked, browse
from tests.system.project import PATIENCE_S, REPOSITORY, Project

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Path]:
    """A new profile of the browser, which leaves much behind."""
    directory = tmp_path / "profile"
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def report(*arguments: str, cwd: Path) -> Path:
    """Run `bfcl report` as a person does; the page it names."""
    ended = subprocess.run(
        [sys.executable, "-m", "bfcl", "report", *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(path for path in (str(REPOSITORY), *sys.path) if path)},
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return Path(ended.stdout.decode().rstrip("\n"))


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a release with lost tasks, one of them made of markup."""
    directory = tmp_path_factory.mktemp("page")
    releases.release(directory / "demo", [*releases.lost_tasks(), releases.hostile_task()], count=40)
    return report("demo", "--output", "page.html", cwd=directory)


def test_page_shows_all_tasks_in_pages(hostile_page: Path, profile: Path) -> None:
    shown = browse(hostile_page, profile)
    assert shown.console == []
    assert shown.count == "44 of 44 tasks"
    assert len(shown.tasks) == 25
    assert shown.opened == 0
    assert '<span id="page">Page 1 of 2</span>' in shown.dom
    assert re.search(r'<p id="notice" class="notice" role="alert" hidden=""></p>', shown.dom)


def test_address_searches_without_marks_and_opens_the_only_find(hostile_page: Path, profile: Path) -> None:
    shown = browse(hostile_page, profile, "#q=chuyen+KHOAN&outcome=lost")
    assert shown.console == []
    assert shown.count == "1 of 44 tasks"
    assert shown.opened == 1
    # What would be markup is text, of the pack's own script and direction; nothing of it ran or became an element.
    assert "<img" not in shown.dom
    assert f'dir="auto">{releases.ARABIC}</p>' in shown.dom
    assert shown.dom.count(escape(releases.MARKUP, quote=False)) > 10
    assert "12345678901234567890" in shown.dom
    assert re.search(r"lost by executable_replay: <bdi>", shown.dom)


def test_filters_join_and_a_value_that_no_task_has_is_off(hostile_page: Path, profile: Path) -> None:
    shown = browse(hostile_page, profile, "#outcome=published&template=read_then_set&category=nothing&q=v-7+bär")
    assert shown.console == []
    assert shown.tasks == ["plant__read_then_set__0000000000000007"]


def test_address_of_a_task_opens_it_on_its_page(hostile_page: Path, profile: Path) -> None:
    shown = browse(hostile_page, profile, "#task=plant__read_then_set__0000000000000028")
    assert shown.console == []
    assert '<span id="page">Page 2 of 2</span>' in shown.dom
    assert shown.opened == 1
    assert "Check V-40, then set it to 40 bär." in shown.dom
    assert '<th scope="col">expected call</th><th scope="col">tool result</th>' in shown.dom


def test_page_asks_nobody_for_anything(hostile_page: Path, profile: Path, tmp_path: Path) -> None:
    log = tmp_path / "net.json"
    assert browse(hostile_page, profile, "#q=chuyen&outcome=lost", f"--log-net-log={log}").console == []
    assert not asked(log)


def test_browser_would_have_noticed(profile: Path, tmp_path: Path) -> None:
    page, log = tmp_path / "careless.html", tmp_path / "net.json"
    page.write_text(f"<script>{releases.MARKUP}", encoding="utf-8")
    assert any("CONSOLE" in line for line in browse(page, profile, "", f"--log-net-log={log}").console)
    assert asked(log)


def test_page_of_a_built_project_tells_replay_times_and_leaves_nothing_to_do(built: Project, profile: Path) -> None:
    page = report(cwd=built.root)
    assert page == built.build / "report" / "trial.html"
    shown = browse(page, profile)
    assert shown.console == []
    assert "Replay time by template" in shown.dom
    assert "No template lost a task." in shown.dom
    before = built.run_dir.joinpath("run_manifest.json").read_bytes()
    built.generate()
    assert built.run_dir.joinpath("run_manifest.json").read_bytes() == before
    assert page.is_file()
