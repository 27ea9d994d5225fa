"""`bfcl extract-bfcl-eval-measurements`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]
COMMAND = "extract-bfcl-eval-measurements"


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_extract_writes_both_files(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    asked = ("--run-id", "r1", "--evaluation-dir", str(evaluated.solo), "--output-dir", "m")
    ended = bfcl(COMMAND, *asked, "--format", "json")
    assert ended.status == 0
    assert json.loads(ended.out) == json.loads((project / "m/eval_measurements_r1.json").read_bytes())
    assert bfcl(COMMAND, *asked, "--format", "text").out == "m/eval_measurements_r1.json\nm/eval_measurements_r1.md\n"


def test_extract_refuses_with_one_and_writes_nothing(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    asked = ("--run-id", "r1", "--evaluation-dir", str(evaluated.trace), "--output-dir", "m", "--format", "text")
    ended = bfcl(COMMAND, *asked)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"measurements_refused: {evaluated.trace}: holds 4 candidates")
    assert list(project.iterdir()) == []
