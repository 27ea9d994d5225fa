"""What is refused before Inspect is asked for anything, and where it is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.inspect_bridge import bfcl_task
from tests.evaluate.settings.builder import beside, held_out, unpublished, write_evaluation


def told(config: Path, alias: str | None = None) -> list[str]:
    with pytest.raises(EvalError) as refusal:
        bfcl_task(config, alias)
    return [str(problem).replace(f"{config.parent}/", "") for problem in refusal.value.problems]


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="Inspect is installed here")
def test_task_without_inspect_is_refused_with_how_to_install_it(tmp_path: Path) -> None:
    assert told(write_evaluation(tmp_path, unpublished)) == [
        "inspect_ai_not_installed: inspect_ai: a benchmark is to run as an Inspect task, and the package inspect-ai is "
        "not installed\n  fix: pip install inspect-ai"
    ]


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        (
            None,
            "eval.yaml: candidate_identity_invalid: no candidate is named; the configuration has potter, second\n"
            "  fix: give one of potter, second as `candidate_alias`",
        ),
        (
            "poter",
            "eval.yaml: candidate_identity_invalid: no candidate has the alias `poter`; the configuration has potter, "
            "second\n  fix: did you mean `potter`?",
        ),
        (
            "x",
            "eval.yaml: candidate_identity_invalid: no candidate has the alias `x`; the configuration has potter, "
            "second\n  fix: give one of potter, second as `candidate_alias`",
        ),
    ],
)
def test_alias_that_means_no_candidate_is_refused(alias: str | None, expected: str, tmp_path: Path) -> None:
    assert told(write_evaluation(tmp_path, unpublished, beside()), alias) == [expected]


def test_held_out_tasks_are_refused_as_a_log_would_hold_them(tmp_path: Path) -> None:
    assert told(write_evaluation(tmp_path, held_out)) == [
        "eval.yaml: unsupported_eval_mode: `held_out_eval` is among the modes; an Inspect log would hold the private "
        "tasks\n  fix: run `bfcl eval` for held-out tasks, and leave that mode out here"
    ]
