from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from bfcl.canonical import Json
from bfcl.config.kinds import GENERATION_ONLY, SCORING_ONLY, is_envelope, is_scoring_configuration, of_evaluation
from bfcl.config.shape import schema
from bfcl.evaluate.settings.load import KEYS

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


@pytest.mark.parametrize(
    ("raw", "envelope", "scoring"),
    [
        ({"eval_config_path": "x"}, True, False),
        ({"stage": "eval"}, True, False),
        ({"eval_config_path": "x", "candidates": []}, True, False),
        ({"candidates": []}, False, True),
        ({"source_run_manifest": "x"}, False, True),
        ({"stage": "eval", "limits": {}}, True, True),
        ({}, False, False),
        ({"expt_name": "a", "output_dir": "b", "stage": "all"}, False, False),
        ({"expt_name": "a", "eval_config_path": None}, False, False),
        ({"oracle_pack": {}, "eval_config_path": "x"}, False, False),
        ({"task_generation": {}, "stage": "eval"}, False, False),
    ],
)
def test_file_is_known_by_its_keys(raw: Mapping[str, Json], envelope: bool, scoring: bool) -> None:
    assert (is_envelope(raw), is_scoring_configuration(raw)) == (envelope, scoring)
    assert of_evaluation(raw) == (envelope or scoring)


def test_keys_of_scoring_are_those_that_generation_and_other_files_lack() -> None:
    assert set(KEYS) - {"schema_version", "config_status", "eval"} == SCORING_ONLY
    assert SCORING_ONLY.isdisjoint(schema()["properties"])
    assert schema()["properties"].keys() >= GENERATION_ONLY
    assert GENERATION_ONLY.isdisjoint(KEYS)


def test_bundled_configurations_are_told_apart() -> None:
    found = {path.name: of_evaluation(yaml.safe_load(path.read_text())) for path in CONFIGS.glob("*.yaml")}
    assert found == {name: name.startswith("eval.") for name in found}
    assert set(found.values()) == {True, False}
