"""The settings that a directory says it was made under are those that it was made under."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_json
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.after.finishing import Data, Evaluated
from tests.evaluate.after.forging import edit_json
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]


@pytest.mark.parametrize("name", ["trace", "executable", "repeated"])
def test_recorded_settings_are_those_of_the_configuration(evaluated: Evaluated, name: str) -> None:
    loaded = load_settings(evaluated.site.root / f"{name}.yaml")
    assert recorded_settings(evaluated.site.root / name) == loaded


def test_recorded_settings_look_for_the_source_where_they_are_told(evaluated: Evaluated) -> None:
    where = Whereabouts(run_dir=evaluated.site.run_dir / "..", pack=evaluated.site.pack / "..")
    (problem,) = refused(lambda: recorded_settings(evaluated.trace, where))
    assert problem.path == str(evaluated.site.run_dir / ".." / "run_manifest.json")
    moved = dataclasses.replace(where, run_dir=evaluated.site.run_dir)
    found = recorded_settings(evaluated.executable, moved)
    assert found.oracle is not None
    assert found.oracle.resource == evaluated.site.pack / ".." / "backend.py"


def test_recorded_settings_refuse_another_run_manifest(evaluated: Evaluated, tmp_path: Path) -> None:
    wanted = load_settings(evaluated.site.root / "trace.yaml").source.run_id
    for run_id, told in (("other", "is of run other"), (wanted, "is of the same run, but was edited")):
        (tmp_path / "run_manifest.json").write_text(json.dumps({"run_id": run_id}))
        (problem,) = refused(lambda: recorded_settings(evaluated.trace, Whereabouts(run_dir=tmp_path)))
        assert str(problem) == (
            f"{tmp_path}/run_manifest.json: eval_artifact_invalid: {told}; the evaluation was made of run {wanted}\n"
            "  fix: name the directory that holds that run with --run-dir; where `doit generate` has replaced it and "
            "no copy is left, evaluate the new run"
        )


def other_shape(document: Data) -> None:
    document["payload"]["limits"]["max_wishes"] = 3
    document["eval_config_hash"] = sha256_json(document["payload"])


def other_type(document: Data) -> None:
    document["payload"]["candidates"] = {"alias": "gold"}
    document["eval_config_hash"] = sha256_json(document["payload"])


@pytest.mark.parametrize("edit", [other_shape, other_type])
def test_recorded_settings_refuse_a_payload_of_another_shape(
    evaluated: Evaluated, copied: Copied, edit: Callable[[Data], None]
) -> None:
    directory = copied(evaluated.trace)
    edit_json(directory / "resolved_eval_config.json", edit)
    (problem,) = refused(lambda: recorded_settings(directory))
    assert problem.code == "eval_artifact_invalid"
    assert problem.message == "holds a payload of another shape than this version writes"


def test_recorded_settings_refuse_a_directory_without_the_document(tmp_path: Path) -> None:
    (problem,) = refused(lambda: recorded_settings(tmp_path))
    assert str(problem) == (
        f"{tmp_path}/resolved_eval_config.json: eval_artifact_invalid: is gone; expected the configuration that the "
        "results were made with\n  fix: restore the file from a copy, or evaluate into another `outputs.output_dir`; "
        "results are never mended"
    )
