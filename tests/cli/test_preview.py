"""`bfcl preview`: formats and status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.cli.main import cli
from bfcl.cli.show import run
from tests.packs import put_template, write_pack

Run = Callable[..., tuple[int, str, str]]


def test_preview_prints_conversations_as_text(bfcl: Run, project: Path) -> None:
    write_pack(project / "pack")
    status, out, err = bfcl("preview", "pack", "--template", "out_of_scope", "--n", "1", "--format", "text")
    assert (status, err) == (0, "")
    first, blank, task, *told = out.splitlines()
    assert first == "out_of_scope  irrelevant, category out_of_scope, 1 of 2 bindings"
    assert blank == ""
    assert "__out_of_scope__" in task
    assert told[0].startswith("    user        Can you tell me ")
    assert told[-1] == "    passed      assert_no_tool_called"


def test_preview_is_json_where_nobody_watches(bfcl: Run, project: Path) -> None:
    write_pack(project / "pack")
    status, out, _ = bfcl("preview", "pack", "--n", "1")
    assert status == 0
    assert [one["template_id"] for one in json.loads(out)["templates"]] == [
        "kiln_status",
        "start_confirmed",
        "kiln_and_firing",
        "out_of_scope",
    ]


def test_preview_of_what_would_not_be_published_ends_in_status_2(bfcl: Run, project: Path) -> None:
    write_pack(project / "pack", put_template("kiln_status", ["success_assertions"], ["assert_no_tool_called"]))
    status, out, err = bfcl("preview", "pack", "--format", "html")
    assert (status, err) == (2, "")
    assert out.startswith("<!doctype html>")


def test_preview_of_no_pack_is_refused(bfcl: Run, project: Path) -> None:
    (project / "empty").mkdir()
    assert bfcl("preview", "empty") == (
        1,
        "",
        "empty: pack_file_missing: `empty` holds no manifest.yaml; expected an oracle pack\n"
        "  fix: name the directory of a pack, or write one with `bfcl scaffold-oracle-pack`\n",
    )


@pytest.mark.parametrize("count", ["0", "x"])
def test_preview_count_is_a_number_above_zero(bfcl: Run, project: Path, count: str) -> None:
    assert bfcl("preview", str(project), "--n", count)[0] == 1


@pytest.mark.parametrize(
    ("asked", "terminal", "json_told"),
    [("text", False, False), ("json", True, True), ("html", True, False), ("html", False, True)],
)
def test_refusal_of_a_preview_is_told_in_the_form_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str], asked: str, terminal: bool, json_told: bool
) -> None:
    assert run(cli, ["preview", str(project), "--format", asked], terminal=terminal) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("{") is json_told
