"""`bfcl eval-verify`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_eval_verify_says_what_was_checked(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-verify", str(evaluated.executable), "--format", "json")
    assert ended.status == 0
    told = json.loads(ended.out)
    assert (told["status"], told["eval_scope"], told["episodes_driven_again"]) == ("pass", "trace_and_executable", 90)
    text = bfcl("eval-verify", str(evaluated.trace), "--format", "text").out
    assert text.startswith(f"verified {evaluated.trace}\n  run       run-trace, scope trace\n")
    assert "\nnot checked\n  whether each provider really answered as recorded: nobody was asked again\n" in text


def test_eval_verify_ends_with_seven_where_a_file_does_not_hold(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    shutil.copytree(evaluated.trace, project / "copy")
    report = project / "copy" / "eval_report.json"
    report.write_bytes(report.read_bytes().replace(b'"eval_scope": "trace"', b'"eval_scope": "trick"'))
    ended = bfcl("eval-verify", "copy", "--format", "text")
    assert (ended.status, ended.out) == (7, "")
    assert ended.err.startswith(
        'copy/eval_report.json: eval_artifact_invalid: eval_scope is "trick"; the records give "trace"\n'
    )


def test_eval_verify_ends_with_seven_where_nothing_is(bfcl: Bfcl) -> None:
    ended = bfcl("eval-verify", "nowhere", "--format", "text")
    assert ended.status == 7
    assert "is not there: there is no such directory" in ended.err
