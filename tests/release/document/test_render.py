"""Templates that become pages: own parts after the shared ones, texts escaped, unknown names refused."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bfcl.release.document.render import render

jinja2 = pytest.importorskip("jinja2", reason="the extra `report` is not installed")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "page.html.j2").write_text(
        '{% extends "document.html.j2" %}{% block title %}{{ name }}{% endblock %}{% block body %}<main id="main">'
        "{{ name }}</main>{% endblock %}",
        encoding="utf-8",
    )
    (tmp_path / "page.css").write_text("#own { color: red; }\n", encoding="utf-8")
    (tmp_path / "browser.js").write_text("own();\n", encoding="utf-8")
    return tmp_path


def test_page_has_shared_parts_first_and_escapes_what_it_is_told(directory: Path) -> None:
    html = render(directory, {"name": "<script>alert(1)</script>"}, b"packed").decode()
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    assert "<script>alert" not in html
    assert html.index("--paper:") < html.index("#own {") < html.index("</style>")
    assert html.index("const listing") < html.index("own();")
    assert f'id="rows">{base64.b64encode(b"packed").decode()}</script>' in html
    assert html == render(directory, {"name": "<script>alert(1)</script>"}, b"packed").decode()


def test_page_that_names_what_it_is_not_told_is_an_error(directory: Path) -> None:
    with pytest.raises(jinja2.UndefinedError, match="'name' is undefined"):
        render(directory, {}, b"")
