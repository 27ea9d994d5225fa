"""Looks at pages for people are noticed, however pack code comes to them, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bfcl.oracle.pages import is_page
from bfcl.oracle.protocol import Episode
from tests.oracle.conftest import Packs

BACKEND = """
import os, pathlib, shutil
HERE = os.path.dirname(os.path.abspath(__file__))
{imported}
def list_tools():
    {listed}
    return ["look"]
def reset(*, ctx, fixtures=None):
    {reset}
def call_tool(name, arguments, *, ctx):
    return {{"n": 1}}
def get_state(): return {{}}
"""
ASSERTIONS = """
def assert_fine(*, state, trace, task, ctx):
    {judged}
"""
PAGE = 'HERE + "/READ" + "ME.md"'
LOOKS = (
    f"open({PAGE}).read()",
    f"pathlib.Path({PAGE}).read_bytes()",
    f"open(({PAGE}).encode(), 'rb').close()",
    "os.chdir(HERE); open('README.md').close()",
    "os.open('README.md', os.O_RDONLY, dir_fd=os.open(HERE, os.O_RDONLY))",
    "os.symlink(HERE, 'link'); open('link/README.md').close()",
    f"os.symlink({PAGE}, 'link'); open('link').close()",
    f"shutil.copyfile({PAGE}, 'copy')",
    f"os.path.getsize({PAGE})",
    f"pathlib.Path({PAGE}).lstat()",
    "sum(one.stat().st_size for one in os.scandir(HERE))",
    "os.chdir(HERE); list(os.scandir())",
    "[name for name in os.walk(HERE)]",
    "list(pathlib.Path(HERE).glob('*'))",
    f"import sqlite3; sqlite3.connect('file:' + {PAGE} + '?mode=ro', uri=True).close()",
    "open(HERE + '/validate.yaml').close()",
)
OTHERS = (
    "pass",
    "open(HERE + '/backend.py').close()",
    "open(HERE + '/rows.json').close()",
    "os.listdir(HERE)",
    "os.listdir(); list(os.scandir())",
    "open('notes.txt', 'w').close(); os.path.getsize('notes.txt'); shutil.rmtree('.', ignore_errors=True)",
    "import sqlite3; sqlite3.connect(':memory:').close()",
)


def saw_pages(packs: Packs, episode: Episode, judged: str = "pass", **places: str) -> bool:
    code = {"imported": "", "listed": "pass", "reset": "pass", **places}
    oracle = packs.oracle(BACKEND.format(**code), ASSERTIONS.format(judged=judged))
    view = next(packs.directory.glob("view-*"))
    for name in ("README.md", "validate.yaml", "rows.json"):
        (view / name).write_text("x", encoding="utf-8")
    assert not oracle.saw_pages
    oracle.describe()
    oracle.replay([episode])
    seen = oracle.saw_pages
    oracle.close()
    assert oracle.saw_pages is seen
    return seen


@pytest.mark.parametrize("code", LOOKS)
def test_look_at_a_page_is_noticed(packs: Packs, episode: Callable[..., Episode], code: str) -> None:
    assert saw_pages(packs, episode(), reset=code)


@pytest.mark.parametrize("code", OTHERS)
def test_anything_else_is_none(packs: Packs, episode: Callable[..., Episode], code: str) -> None:
    assert not saw_pages(packs, episode(), reset=code)


@pytest.mark.parametrize("place", ["imported", "listed"])
def test_look_while_the_pack_is_imported_or_asked_for_its_tools_is_noticed(
    packs: Packs, episode: Callable[..., Episode], place: str
) -> None:
    assert saw_pages(packs, episode(), **{place: LOOKS[0]})


@pytest.mark.parametrize(
    "judged", ["import backend; open(backend.HERE + '/README.md').close()", "import os, backend\n    os._exit(1)"]
)
def test_look_of_an_assertion_is_noticed(packs: Packs, episode: Callable[..., Episode], judged: str) -> None:
    assert saw_pages(packs, episode(assertions=("assert_fine",)), judged) is ("open" in judged)


def test_look_of_an_episode_that_dies_right_after_is_noticed(packs: Packs, episode: Callable[..., Episode]) -> None:
    assert saw_pages(packs, episode(), reset=f"open({PAGE}); os._exit(3)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("README", True),
        ("README.md", True),
        ("readme.fr.rst", True),
        ("README-vi.txt", True),
        ("validate.yaml", True),
        ("README.py", False),
        ("README.db", False),
        ("README/notes.md", False),
        ("notes/README.md", False),
        ("notes/validate.yaml", False),
        ("backend.py", False),
    ],
)
def test_page_is_a_text_for_people_in_the_root(name: str, expected: bool) -> None:
    assert is_page(name) is expected
