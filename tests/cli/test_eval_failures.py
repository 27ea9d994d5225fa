"""`bfcl eval-failures`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_eval_failures_writes_a_page_and_lines_for_every_candidate(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    ended = bfcl("eval-failures", str(evaluated.trace), "--out", "why", "--format", "json")
    assert ended.status == 0
    told = json.loads(ended.out)["candidates"]
    assert told["mute"] == {"page": "why/mute.md", "lines": "why/mute.jsonl", "failures": 10}
    assert sorted(path.name for path in (project / "why").iterdir()) == sorted(
        f"{alias}.{suffix}" for alias in ("gold", "gone", "lower", "mute") for suffix in ("md", "jsonl")
    )


def test_eval_failures_tells_where_the_pages_are_in_text(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-failures", str(evaluated.trace), "--out", "why", "--format", "text")
    assert ended.out.splitlines()[0] == "gold: 0 failed, why/gold.md"
