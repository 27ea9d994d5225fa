"""A scoring configuration is closed, complete and judged in one pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import (
    COMMIT,
    CONFIG,
    HELD_OUT,
    Edit,
    beside,
    drop,
    faults,
    held_out,
    loaded,
    put,
    told,
    unpublished,
    write_evaluation,
)

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = "eval_config_schema_invalid"


def test_load_settings_types_every_section_of_a_good_file(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("eval", "mode"), ["executable", "trace"]))
    candidate, source, oracle = settings.candidates[0], settings.source, settings.oracle
    assert settings.path == tmp_path / "configs" / "eval.yaml"
    assert settings.modes == ("trace", "executable")
    assert settings.executable
    assert (source.manifest, source.benchmark) == (
        tmp_path / "run/run_manifest.json",
        tmp_path / "run/benchmark.parquet",
    )
    assert (source.run_id, source.benchmark_schema_version, source.gold_eligible) == ("kilns-1", "1.1", True)
    assert source.manifest_hash == sha256_of((tmp_path / "run/run_manifest.json").read_bytes())
    assert source.oracle_hash == sha256_of((tmp_path / "pack/backend.py").read_bytes())
    assert oracle is not None
    assert (oracle.kind, oracle.resource) == ("python", tmp_path / "pack/backend.py")
    assert (candidate.base_url, candidate.api_key_env) == ("https://models.example.org/v1", "VENDOR_KEY")
    assert candidate.canonical_id == f"hub:Org/Potter-7B@{COMMIT}"
    assert candidate.assurance == "weights_pinned"
    assert (candidate.inference.temperature, candidate.inference.top_p) == (0.0, 1.0)
    assert (candidate.inference.max_tokens_field, candidate.inference.echo_reasoning) == ("max_tokens", None)
    assert (settings.limits.tool_timeout_s, settings.limits.max_retries) == (5.0, 2)
    assert (settings.repeats.trials, settings.repeats.seed_policy) == (1, "fixed")
    assert settings.scoring.contract_hash == sha256_of(b"{}\n")
    assert (settings.publication_allowed, settings.non_publication_reasons) == (True, ())
    assert settings.publication_scope == "trace_and_executable"
    assert settings.outputs.output_dir == tmp_path / "out"
    assert not settings.outputs.output_dir.exists()


def test_load_settings_tells_every_fault_in_file_order(tmp_path: Path) -> None:
    edits = (
        put(("outputs", "output_dir"), "../run"),
        put(("candidates", 0, "alias"), "Potter"),
        put(("limits", "max_turns"), "12"),
        put(("eval", "mode"), ["trac"]),
        put(("source_oracle", "resource"), "../pack/backend.txt"),
        drop("contamination", "enforce"),
        put(("candidates", 0, "api", "api_key"), "plain"),
    )
    assert faults(tmp_path, *edits) == [
        ("eval_config_path_invalid", "source_oracle.resource"),
        ("unsupported_eval_mode", "eval.mode[0]"),
        (SCHEMA, "limits.max_turns"),
        (SCHEMA, "candidates[0].alias"),
        ("secret_in_eval_config", "candidates[0].api.api_key"),
        (SCHEMA, "contamination.enforce"),
        ("eval_config_path_invalid", "outputs.output_dir"),
    ]


@pytest.mark.parametrize("key", sorted(CONFIG))
def test_load_settings_refuses_an_absent_section(tmp_path: Path, key: str) -> None:
    message = f"eval.yaml:1: {SCHEMA}: {key} is missing; every key of this file has to be written\n  fix: add `{key}`"
    assert message in told(tmp_path, drop(key))


@pytest.mark.parametrize(
    ("section", "key"),
    [
        (section, key)
        for section, value in CONFIG.items()
        if isinstance(value, dict)
        for key in value
        if section != "source_oracle"
    ],
)
def test_load_settings_refuses_an_absent_key(tmp_path: Path, section: str, key: str) -> None:
    assert (SCHEMA, f"{section}.{key}") in faults(tmp_path, drop(section, key))


@pytest.mark.parametrize("section", ["source_oracle", "eval", "scoring", "limits", "contamination", "outputs"])
def test_load_settings_refuses_an_unknown_key_in_a_section(tmp_path: Path, section: str) -> None:
    assert faults(tmp_path, put((section, "colour"), "blue")) == [(SCHEMA, f"{section}.colour")]


CASES: list[tuple[str, list[Edit], list[str]]] = [
    (
        "unknown key at the top",
        [put(("limit",), {})],
        [f"59: {SCHEMA}: limit is no key of this file\n  fix: did you mean `limits`?"],
    ),
    (
        "misspelt key that has to be written",
        [drop("limits", "max_turns"), put(("limits", "max_turn"), 3)],
        [f"27: {SCHEMA}: limits.max_turn is no key of `limits`\n  fix: did you mean `max_turns`?"],
    ),
    (
        "misspelt key that bars publishing where it is absent",
        [drop("contamination", "enforce"), put(("contamination", "enforced"), True)],
        [f"49: {SCHEMA}: contamination.enforced is no key of `contamination`\n  fix: did you mean `enforce`?"],
    ),
    (
        "unknown key beside an absent one",
        [drop("limits", "max_turns"), put(("limits", "colour"), 3)],
        [
            f"21: {SCHEMA}: limits.max_turns is missing; every key of `limits` has to be written\n  fix: add "
            "`max_turns`",
            f"27: {SCHEMA}: limits.colour is no key of `limits`\n  fix: remove it; known here: `max_turns`, "
            "`max_parallel_tasks`, `max_retries`, `tool_timeout_s`, `candidate_timeout_s`, `episode_timeout_s`",
        ],
    ),
    (
        "version as a number",
        [put(("schema_version",), 1.2)],
        [f'1: {SCHEMA}: schema_version is 1.2; expected `1.1` or `1.2` or `1.3`\n  fix: quote it: `"1.2"`'],
    ),
    (
        "template",
        [put(("config_status",), "template")],
        [
            f"2: {SCHEMA}: config_status is <str len=8>; expected `resolved`\n"
            "  fix: copy the template, fill it in, then write `config_status: resolved`"
        ],
    ),
    (
        "section that is a list",
        [put(("eval",), [])],
        [
            f"9: {SCHEMA}: eval is <list len=0>; expected a mapping with `mode`\n  fix: set `eval` to a mapping "
            f"with `mode`"
        ],
    ),
    (
        "translation manifest",
        [put(("translation_manifest",), "vi.json")],
        [
            "8: unsupported_config_feature: translation_manifest is <str len=7>; expected null: this release "
            "evaluates no "
            "localised benchmark\n  fix: write `translation_manifest: null`"
        ],
    ),
    (
        "repeats below 1.3",
        [put(("repeats",), {"trials": 2, "seed_policy": "fixed"})],
        [f'59: {SCHEMA}: repeats is no key of this file\n  fix: write `schema_version: "1.3"`, or remove it'],
    ),
    (
        "1.3 without repeats",
        [put(("schema_version",), "1.3")],
        [f"1: {SCHEMA}: repeats is missing; every key of this file has to be written\n  fix: add `repeats`"],
    ),
    (
        "held-out mode without section",
        [put(("eval", "mode"), ["trace", "held_out_eval"])],
        [
            f"1: {SCHEMA}: held_out_eval is missing; every key of this file has to be written\n  fix: add "
            f"`held_out_eval`"
        ],
    ),
    (
        "held-out section without mode",
        [put(("held_out_eval",), HELD_OUT)],
        [
            f"59: {SCHEMA}: held_out_eval is no key of this file\n"
            "  fix: add `held_out_eval` to `eval.mode`, or remove it"
        ],
    ),
    (
        "held-out version of another pack",
        [held_out, put(("held_out_eval", "pack_version"), "2.0")],
        [
            f"64: {SCHEMA}: held_out_eval.pack_version is not the version of the run manifest's pack; expected `1.0`\n"
            '  fix: write `"1.0"`'
        ],
    ),
    (
        "held-out beside per-candidate sets",
        [held_out, put(("contamination", "comparison_set"), "per_candidate")],
        [
            f"48: {SCHEMA}: contamination.comparison_set is not `common_intersection`; expected that beside a held-out "
            "evaluation\n  fix: write `common_intersection`"
        ],
    ),
]


@pytest.mark.parametrize(("edits", "messages"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_load_settings_refuses(tmp_path: Path, edits: list[Edit], messages: list[str]) -> None:
    assert told(tmp_path, *edits) == [f"eval.yaml:{message}" for message in messages]


def test_load_settings_reads_repeats_of_version_1_3(tmp_path: Path) -> None:
    repeats = put(("repeats",), {"trials": 4, "seed_policy": "increment"})
    settings = loaded(tmp_path, put(("schema_version",), "1.3"), repeats)
    assert (settings.repeats.trials, settings.repeats.seed_policy) == (4, "increment")
    assert settings.hash_payload["repeats"] == {"trials": 4, "seed_policy": "increment"}


def test_load_settings_reads_a_held_out_section(tmp_path: Path) -> None:
    settings = loaded(tmp_path, held_out)
    assert settings.modes == ("held_out_eval",)
    assert settings.held_out is not None
    assert settings.held_out.contract_version == "1.0"
    assert settings.held_out.fixture_refs == ('["kilns","K-1"]',)
    assert (settings.publication_scope, settings.executable) == ("trace_only", False)


def test_load_settings_still_reads_version_1_1(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("schema_version",), "1.1"))
    assert (settings.schema_version, settings.hash_payload["schema_version"]) == ("1.1", "1.1")


def test_load_settings_orders_candidates_by_alias(tmp_path: Path) -> None:
    settings = loaded(tmp_path, beside(alias="a-first"))
    assert [candidate.alias for candidate in settings.candidates] == ["a-first", "potter"]


def test_load_settings_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem) == (
        f"{path}: eval_config_path_invalid: cannot be read: No such file or directory\n"
        "  fix: give the path of a file that is there and can be read"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"- a\n",
            "1: eval_config_schema_invalid: the file is <list len=1>; expected a mapping\n  fix: write `key: "
            "value` lines",
        ),
        (
            b"a: 1\na: 2\n",
            "2: eval_config_schema_invalid: key 'a' is given twice in one mapping\n  fix: keep one of the two",
        ),
        (
            b"a: !!int kiln pass phrase\n",
            "1: eval_config_schema_invalid: tag 'tag:yaml.org,2002:int' does not fit its value\n  fix: remove the tag",
        ),
        (
            b"sk-abcdefghijklmnop: 1\nsk-abcdefghijklmnop: 2\n",
            "2: eval_config_schema_invalid: key '<redacted>' is given twice in one mapping\n  fix: keep one of the two",
        ),
    ],
)
def test_load_settings_refuses_what_is_no_yaml_mapping(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "eval.yaml"
    path.write_bytes(data)
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem) == f"{path}:{message}"


def test_load_settings_finds_files_from_the_configuration_not_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_evaluation(tmp_path / "a")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    assert load_settings(Path(os.path.relpath(path))).source.run_id == "kilns-1"


def test_template_names_every_value_that_is_left_to_fill_in() -> None:
    problems = refused(lambda: load_settings(ROOT / "configs" / "eval.default.yaml"))
    assert [(problem.code, problem.field) for problem in problems] == [
        (SCHEMA, "config_status"),
        (SCHEMA, "source_run_manifest"),
        (SCHEMA, "source_oracle.pack_manifest"),
        (SCHEMA, "source_oracle.resource"),
        (SCHEMA, "candidates[0].alias"),
        (SCHEMA, "candidates[0].model"),
        (SCHEMA, "candidates[0].provider"),
        (SCHEMA, "candidates[0].api.base_url"),
        (SCHEMA, "candidates[0].api.api_key_env"),
        (SCHEMA, "candidates[0].model_identity.source"),
        (SCHEMA, "candidates[0].model_identity.model"),
        (SCHEMA, "candidates[0].model_identity.revision"),
    ]
    assert problems[1].message == "source_run_manifest still holds `REPLACE_ME_`; expected a value of your own"


def filled(text: str) -> str:
    """The template as a person fills it in for the tree of the builder."""
    values: dict[str, Any] = {
        "RUN_MANIFEST": "../run/run_manifest.json",
        "PACK_MANIFEST": "../pack/manifest.yaml",
        "PACK_BACKEND": "../pack/backend.py",
        "ALIAS": "potter",
        "SOURCE_MODEL": "Org/Potter-7B",
        "MODEL": "potter-7b",
        "PROVIDER": "vendor",
        "BASE_URL": "https://models.example.org/v1",
        "KEY_VARIABLE": "VENDOR_KEY",
        "SOURCE": "hub",
        "COMMIT": f'"{COMMIT}"',
    }
    for name, value in values.items():
        text = text.replace(f"REPLACE_ME_{name} ", f"{value} ").replace(f"REPLACE_ME_{name}\n", f"{value}\n")
    return text.replace("config_status: template", "config_status: resolved").replace("../build/eval/", "../")


def test_template_is_a_good_configuration_once_filled_in(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path)
    path.write_text(filled((ROOT / "configs/eval.default.yaml").read_text(encoding="utf-8")), encoding="utf-8")
    settings = load_settings(path)
    assert settings.non_publication_reasons == ("publication.requested",)
    assert settings.outputs.output_dir.name == f"mine-{settings.eval_config_hash.removeprefix('sha256:')[:16]}"


def test_template_shows_optional_fields_that_load_when_their_comment_is_lifted(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path)
    text = filled((ROOT / "configs/eval.default.yaml").read_text(encoding="utf-8"))
    text = text.replace('schema_version: "1.2"', 'schema_version: "1.3"')
    for line in (
        "executable_continuation:",
        "max_tokens_field:",
        "echo_reasoning:",
        "repeats:",
        "  trials:",
        "  seed_policy:",
    ):
        text = text.replace(f"# {line}", line)
    path.write_text(text, encoding="utf-8")
    settings = load_settings(path)
    inference = settings.candidates[0].inference
    assert settings.scoring.executable_continuation == "live"
    assert (inference.max_tokens_field, inference.echo_reasoning) == ("max_completion_tokens", "reasoning_content")
    assert (settings.repeats.trials, settings.repeats.seed_policy) == (5, "increment")


def test_smallest_evaluation_is_faultless_but_for_the_run_it_waits_for(tmp_path: Path) -> None:
    path = write_evaluation(tmp_path)
    text = (ROOT / "configs/eval.tiny.yaml").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    (problem,) = refused(lambda: load_settings(path))
    assert str(problem).replace(str(path), "eval.yaml") == (
        "eval.yaml:13: eval_config_path_invalid: source_run_manifest names a file that cannot be read: No such file or "
        f"directory; it leads to `{tmp_path}`, and `build/runs/tiny/run_manifest.json` is not in it\n"
        "  fix: run `doit generate` first, or "
        "give the path of the `run_manifest.json` of a finished run; a "
        "relative path counts from this file's directory"
    )
    path.write_text(text.replace("../build/runs/tiny/", "../run/"), encoding="utf-8")
    settings = load_settings(path)
    assert settings.modes == ("trace",)
    assert settings.candidates[0].canonical_id == "scripted:scripted-gold@provider_managed"
    assert settings.non_publication_reasons == (
        "candidates[scripted-gold].model_identity",
        "publication.requested",
    )


def test_unpublished_configuration_says_so(tmp_path: Path) -> None:
    settings = loaded(tmp_path, unpublished)
    assert (settings.publication_requested, settings.publication_allowed) == (False, False)
    assert settings.non_publication_reasons == ("publication.requested",)
