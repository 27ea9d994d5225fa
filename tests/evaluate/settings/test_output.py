"""Where results may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import held_out, loaded, put, told, write_evaluation

PLACE = "eval.yaml:54: eval_config_path_invalid: outputs.output_dir"
ELSEWHERE = "\n  fix: choose a directory of its own, like `../build/eval/mine-{eval_config_hash}`"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../run", "lies in the directory of the published benchmark; expected another, where it changes nothing"),
        ("../run/eval", "lies in the directory of the published benchmark; expected another, where it changes nothing"),
        ("..", "contains the directory of the published benchmark; expected another, where it changes nothing"),
        ("../link/out", "lies in the directory of the published benchmark; expected another, where it changes nothing"),
        ("../pack/{eval_config_hash}", "lies in the directory of the pack; expected another, where it changes nothing"),
        ("eval.yaml", "names a file; expected a directory, which need not be there yet"),
        ("../held", "holds `benchmark_raw.parquet`; expected no directory of a published benchmark"),
    ],
)
def test_output_dir_is_refused(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "benchmark_raw.parquet").touch()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert told(tmp_path, put(("outputs", "output_dir"), name)) == [f"{PLACE} {fault}{ELSEWHERE}"]


def test_output_dir_is_judged_beside_other_faults(tmp_path: Path) -> None:
    found = told(tmp_path, put(("outputs", "output_dir"), "../run"), put(("limits", "max_turns"), 0))
    assert [line.partition(";")[0] for line in found] == [
        "eval.yaml:22: eval_config_schema_invalid: limits.max_turns is 0",
        f"{PLACE} lies in the directory of the published benchmark",
    ]


def test_output_dir_takes_the_hash_of_what_is_measured(tmp_path: Path) -> None:
    plain = loaded(tmp_path)
    settings = loaded(tmp_path, put(("outputs", "output_dir"), "../out/{eval_config_hash}/x"))
    assert settings.outputs.output_dir == tmp_path / "out" / plain.eval_config_hash[7:23] / "x"
    assert settings.eval_config_hash == plain.eval_config_hash


def test_output_dir_with_another_field_is_refused(tmp_path: Path) -> None:
    assert told(tmp_path, put(("outputs", "output_dir"), "../out-{run_id}")) == [
        "eval.yaml:54: eval_config_schema_invalid: outputs.output_dir is <str len=15>; expected no braces but those of "
        "`{eval_config_hash}`\n  fix: write `{eval_config_hash}` or remove them"
    ]


def test_output_dir_that_is_there_and_holds_results_is_fine(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "eval_report.json").touch()
    assert loaded(tmp_path).outputs.output_dir == tmp_path / "out"


def test_held_out_run_writes_no_private_task_down(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, held_out, put(("outputs", "cache_tool_results"), True))
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem).replace(f"{path}:", "eval.yaml:") == (
        "eval.yaml:57: eval_config_schema_invalid: outputs.cache_tool_results is true; expected false, as a held-out "
        "evaluation writes no private task down\n  fix: set it to false, or evaluate held-out tasks apart"
    )
