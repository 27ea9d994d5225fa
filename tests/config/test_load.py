"""Loading: files that are no configuration, the bundled one, import weight, and a law over broken ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.config.identity import generation_config_hash, resolved_config_hash
from bfcl.config.load import load_config
from bfcl.config.reading import parse_config
from bfcl.errors import ConfigError, Problem
from tests.config.builder import GOOD, MODEL, complaints, edited, load, write

ROOT = Path(__file__).parents[2]


def test_load_returns_typed_settings_and_their_source(tmp_path: Path) -> None:
    loaded = load(tmp_path, GOOD)
    assert loaded.raw == GOOD
    assert loaded.path == tmp_path / "configs" / "run.yaml"
    assert loaded.project == tmp_path
    assert loaded.document.path == "configs/run.yaml"
    assert loaded.document.line(("lineage", "policy")) == 9
    assert loaded.config.run_dir == tmp_path / "build" / "runs" / "trial"


def test_bundled_tiny_configuration_is_supported_by_every_command() -> None:
    for command in ("prepare", "generate", "all"):
        config = load_config(ROOT / "configs" / "tiny.yaml", project=ROOT, command=command).config
        assert config.run_dir == ROOT / "build" / "runs" / "tiny"
        assert config.pack_root == ROOT / "packs" / "tiny_oracle_pack"
        assert config.seed == 7
        assert config.task_generation.tasks_per_category == 4
        assert config.lineage.policy == "smoke_no_publication"


def test_parse_config_parses_without_checking(tmp_path: Path) -> None:
    path = write(tmp_path, {"colour": 1})
    assert parse_config(path.read_bytes(), path, tmp_path).value == {"colour": 1}
    assert parse_config(path.read_bytes(), path, None).path == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "",
            "configs/run.yaml:1: generation_config_invalid: the file is empty; expected a mapping of settings",
            id="empty",
        ),
        pytest.param(
            "- a\n",
            "configs/run.yaml:1: generation_config_invalid: the file does not hold a mapping; "
            "expected a mapping of settings",
            id="list",
        ),
        pytest.param(
            "family: bfcl\nfamily: bfcl\n",
            "configs/run.yaml:2: generation_config_invalid: key 'family' is given twice in one mapping\n"
            "  fix: keep one of the two",
            id="duplicate-key",
        ),
        pytest.param(
            "task_generation:\n  tool_call_count_mix:\n    1: 1.0\n",
            "configs/run.yaml:3: generation_config_invalid: key 1 is not text; expected a string\n  fix: quote the key",
            id="number-for-key",
        ),
        pytest.param(
            "oracle_runtime:\n  tool_timeout_s: .inf\n",
            "configs/run.yaml:2: generation_config_invalid: .inf is not a finite number\n"
            "  fix: quote it to keep it as text",
            id="infinity",
        ),
    ],
)
def test_load_refuses_text_that_is_no_configuration(tmp_path: Path, text: str, message: str) -> None:
    assert complaints(tmp_path, text, "prepare") == [message]


def test_load_refuses_bad_syntax_with_its_line(tmp_path: Path) -> None:
    [message] = complaints(tmp_path, "family: bfcl\nlineage: [\n")
    assert message.startswith("configs/run.yaml:3: generation_config_invalid: not YAML: ")


def test_load_refuses_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "configs" / "none.yaml", project=tmp_path, command="all")
    assert str(caught.value) == (
        "configs/none.yaml: generation_config_invalid: cannot be read: No such file or directory; "
        "expected a run configuration\n"
        "  fix: name one with `config=PATH`"
    )


def test_load_refuses_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path, project=tmp_path / "elsewhere", command="all")
    assert str(caught.value) == (
        f"{tmp_path}: generation_config_invalid: cannot be read: Is a directory; expected a run configuration\n"
        "  fix: name one with `config=PATH`"
    )


def test_import_of_the_room_stays_light() -> None:
    code = (
        "import sys, bfcl.config.load, bfcl.config.identity, bfcl.config.reference;"
        "heavy = {'jsonschema', 'referencing', 'pyarrow', 'click', 'rich', 'httpx'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


FULL: dict[str, Any] = edited(
    {
        "stage": "generate",
        "random_seed": 7,
        "config_status": "resolved",
        "schema_version": "1.1",
        "oracle_pack.backend_path": "../packs/sample/backend.py",
        "oracle_runtime.tool_timeout_s": 2.5,
        "oracle_runtime.allowed_roots": ["../packs"],
        "lineage.judge_advisory": True,
        "lineage.roles": {
            "profile": {"enabled": False, "model_config": None},
            "paraphrase": {"enabled": True, "model_config": {**MODEL, "inference_parameters": {"top_p": 0.5}}},
            "surface_judge": {"enabled": True, "model_config": {**MODEL, "canonical_id": "other"}},
        },
        "reference_benchmark": None,
        "surface_generation": {
            "language": "en",
            "model_paraphrase_enabled": True,
            "paraphrases_per_template": 1,
            "surface_style_axes": ["short", "long"],
        },
        "surface_quality_validation": {"enabled": True, "drop_authority": False},
        "task_generation": {
            "tasks_per_category": 2,
            "candidate_tasks_per_category": 4,
            "turn_mix": {"single_turn": 0.5, "multi_turn": 0.5},
        },
        "semantic_deduplication_config": {
            "enabled": True,
            "model_identifier": "lexical:char-ngram-v1",
            "n_clusters": 3,
            "eps": 0.1,
            "remove_duplicates": True,
            "representative_source_preference": ["model"],
        },
        "exports": {"bfcl_json": True},
        "eval": None,
    }
)
"""Every block filled, so that mutations reach every rule."""

KEYS = st.sampled_from(
    [
        "enabled",
        "model_config",
        "canonical_id",
        "api_key",
        "clock",
        "eval",
        "stage",
        "1",
        "a.b",
        "REPLACE_ME_",
        "\n",
        "",
    ]
) | st.text(max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["resolved", "strict_separation", "..", "a/b", "\0", "REPLACE_ME_X", "../packs", "true", "1.1"])
    | st.sampled_from(["2026-03-02T09:00:00Z", "0001-01-01T00:00:00+14:00", "sha256:" + "0" * 64])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)


def _places(value: object, pointer: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [pointer, *(place for key, child in children for place in _places(child, (*pointer, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> object:
    """A configuration with one to four places replaced, removed or added to."""
    raw: Any = json.loads(json.dumps(draw(st.sampled_from([FULL, dict(GOOD)]))))
    for _ in range(draw(st.integers(1, 4))):
        pointer = draw(st.sampled_from(_places(raw)))
        if not pointer:
            if isinstance(raw, dict):
                raw[draw(KEYS)] = draw(VALUES)
            continue
        block = raw
        for key in pointer[:-1]:
            block = block[key]
        match draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                block[pointer[-1]] = draw(VALUES)
            case "remove":
                del block[pointer[-1]]
            case _ if isinstance(block[pointer[-1]], dict):
                block[pointer[-1]][draw(KEYS)] = draw(VALUES)
    return raw


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=mutated(), command=st.sampled_from(["prepare", "all"]))
def test_load_of_any_configuration_ends_in_settings_or_located_problems(
    tmp_path: Path, raw: object, command: Any
) -> None:
    # JSON is YAML, and one key a line gives every problem a line to point to.
    text = json.dumps(raw, indent=1)
    path = write(tmp_path, text)
    problems: tuple[Problem, ...] = ()
    try:
        loaded = load_config(path, project=tmp_path, command=command)
        assert generation_config_hash(loaded, command) != resolved_config_hash(loaded, command)
    except ConfigError as error:
        problems = error.problems
    for problem in problems:
        assert problem.path == "configs/run.yaml"
        assert problem.line is not None
        assert 1 <= problem.line <= text.count("\n") + 1
        assert len(str(problem)) < 1000
    assert len(set(map(str, problems))) == len(problems)
