"""The pages for authors do what they say: their blocks, in their order, in a real shell on a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.system.pages import DOCS, README, Shell, blocks, first_missing, play, write_documented_pack


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    private, start = tmp_path / "private", tmp_path / "start"
    private.mkdir()
    start.mkdir()
    return Shell(start, private)


def test_tutorial_does_what_it_says_in_an_empty_directory(shell: Shell) -> None:
    play(DOCS / "tutorial.md", shell)


def test_page_of_author_commands_shows_what_they_print_for_the_documented_pack(shell: Shell) -> None:
    shell.run("bfcl init .")
    write_documented_pack(shell.directory / "packs" / "bike_workshop")
    play(DOCS / "authoring.md", shell)


def test_commands_of_the_readme_for_an_own_pack_all_succeed(shell: Shell) -> None:
    section = README.read_text(encoding="utf-8").partition("## Write your own pack")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    status, seen = shell.run(f"bfcl init .\n{commands}")
    assert status == 0, seen


@pytest.mark.parametrize("page", ["tutorial.md", "authoring.md"])
def test_every_command_is_followed_by_what_it_prints(page: str) -> None:
    """But for `cp`, which prints nothing."""
    found = list(blocks(DOCS / page))
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language == "sh" and not block.text.startswith("cp "):
            assert after is not None, block.place
            assert after.language == "text", block.place


@pytest.mark.parametrize(
    ("expected", "seen", "missing"),
    [
        (["a", "c"], ["a", "b", "c"], None),
        (["c", "a"], ["a", "b", "c"], "a"),
        (["x ... z"], ["x y z"], None),
        (["x"], ["x y"], "x"),
        (["a", "a"], ["a"], "a"),
        (["...", "a.c"], ["abc"], "a.c"),
    ],
)
def test_expected_lines_must_occur_whole_and_in_order(
    expected: list[str], seen: list[str], missing: str | None
) -> None:
    assert first_missing(expected, seen) == missing
