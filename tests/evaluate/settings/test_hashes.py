"""What changes the identity of a measurement, and what must not."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.digest import sha256_json, sha256_of
from bfcl.evaluate.settings.hashes import inference_json
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.settings.builder import (
    CONFIG,
    MANIFEST,
    Data,
    Edit,
    beside,
    candidate,
    drop,
    held_out,
    loaded,
    put,
    unpublished,
)

PINNED = "sha256:5ef9409662ddac37736cbad36c7c517cffb7cf0fff218a7b1b193574407b0796"
FIRST = ("candidates", 0)
ALIASES = ["a", "b", "c", "d"]


def several(order: list[str]) -> Edit:
    def edit(config: Data) -> None:
        config["candidates"] = [
            candidate(alias=alias, model_identity={"source": "hub", "model": alias, "revision": "0" * 40})
            for alias in order
        ]

    return edit


def test_eval_config_hash_of_a_known_file_is_this(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert found.eval_config_hash == PINNED
    assert sha256_json(found.hash_payload) == PINNED


@settings(max_examples=20, deadline=None)
@given(
    order=st.permutations(ALIASES),
    modes=st.permutations(["trace", "executable"]),
    output=st.sampled_from(["../out", "../elsewhere/deep", "../out-{eval_config_hash}"]),
    deep=st.booleans(),
)
def test_order_of_candidates_and_modes_and_place_keep_the_hash(
    order: list[str], modes: list[str], output: str, deep: bool
) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        plain = loaded(Path(first), several(ALIASES))
        moved = loaded(
            Path(second) / "a" / "b" if deep else Path(second),
            several(order),
            put(("eval", "mode"), modes),
            put(("outputs", "output_dir"), output),
        )
    assert moved.eval_config_hash == plain.eval_config_hash
    assert moved.measurement_hash == plain.measurement_hash
    assert moved.candidates == plain.candidates


KEEPING: dict[str, list[Edit]] = {
    "integer for a float": [put(("limits", "tool_timeout_s"), 5.0)],
    "negative zero": [put((*FIRST, "inference", "temperature"), -0.0)],
    "trailing slash": [put((*FIRST, "api", "base_url"), "https://models.example.org/v1")],
    "blanks around a name": [put((*FIRST, "model"), " potter-7b ")],
    "written default of text matching": [put(("scoring", "intermediate_text_matching"), "structural")],
    "written default of continuation": [put(("scoring", "executable_continuation"), "gold")],
    "written default of the limit's name": [put((*FIRST, "inference", "max_tokens_field"), "max_tokens")],
    "written null of echoed reasoning": [put((*FIRST, "inference", "echo_reasoning"), None)],
    "written default of extensions": [put((*FIRST, "inference", "provider_extensions"), {})],
    "written null of the weights": [put((*FIRST, "model_identity", "weights_digest"), None)],
}


@pytest.mark.parametrize("edits", KEEPING.values(), ids=KEEPING)
def test_another_spelling_keeps_every_hash(tmp_path: Path, edits: list[Edit]) -> None:
    found = loaded(tmp_path, *edits)
    assert found.eval_config_hash == PINNED
    assert found.scoring.policy_hash == loaded(tmp_path).scoring.policy_hash


CHANGING: dict[str, list[Edit]] = {
    "version": [put(("schema_version",), "1.1")],
    "mode": [put(("eval", "mode"), ["trace"])],
    "no oracle": [put(("eval", "mode"), ["trace"]), put(("source_oracle",), None)],
    "max_turns": [put(("limits", "max_turns"), 13)],
    "max_retries": [put(("limits", "max_retries"), 3)],
    "tool_timeout_s": [put(("limits", "tool_timeout_s"), 6)],
    "candidate_timeout_s": [put(("limits", "candidate_timeout_s"), 31)],
    "episode_timeout_s": [put(("limits", "episode_timeout_s"), 61)],
    "matching": [put(("scoring", "argument_matching"), "canonical_only")],
    "defaults": [put(("scoring", "insert_declared_defaults"), False)],
    "order": [put(("scoring", "respect_call_order"), False)],
    "group": [put(("scoring", "respect_call_group"), False)],
    "success": [put(("scoring", "task_success"), "assertions_only")],
    "verbatim": [put(("scoring", "intermediate_text_matching"), "verbatim")],
    "live": [put(("scoring", "executable_continuation"), "live")],
    "alias": [put((*FIRST, "alias"), "other")],
    "model": [put((*FIRST, "model"), "other")],
    "provider": [put((*FIRST, "provider"), "other")],
    "api version": [put((*FIRST, "provider_api_version"), "v2")],
    "revision": [put((*FIRST, "model_identity", "revision"), "1" * 40)],
    "weights": [put((*FIRST, "model_identity", "weights_digest"), "sha256:" + "1" * 64)],
    "file manifest": [put((*FIRST, "model_identity", "weights_digest"), "bfcl-weight-manifest-v1:" + "1" * 64)],
    "temperature": [put((*FIRST, "inference", "temperature"), 0.5)],
    "top_p": [put((*FIRST, "inference", "top_p"), None)],
    "max_tokens": [put((*FIRST, "inference", "max_tokens"), 257)],
    "seed": [drop(*FIRST, "inference", "seed")],
    "tool_choice": [put((*FIRST, "inference", "tool_choice"), "required")],
    "extension": [put((*FIRST, "inference", "provider_extensions"), {"vendor.v1": {"top_k": 1}})],
    "limit's name": [put((*FIRST, "inference", "max_tokens_field"), "max_completion_tokens")],
    "echoed reasoning": [put((*FIRST, "inference", "echo_reasoning"), "reasoning_content")],
    "another candidate": [beside()],
    "enforce": [put(("contamination", "enforce"), False)],
    "violation": [put(("contamination", "on_violation"), "exclude_row")],
    "comparison": [put(("contamination", "comparison_set"), "per_candidate")],
    **{f"output {key}": [put(("outputs", key), False)] for key in CONFIG["outputs"] if key != "output_dir"},
    "held out": [held_out],
    "repeats": [put(("schema_version",), "1.3"), put(("repeats",), {"trials": 1, "seed_policy": "fixed"})],
}
OPERATIONAL: dict[str, list[Edit]] = {
    "key's variable": [put((*FIRST, "api", "api_key_env"), "OTHER_KEY")],
    "address": [put((*FIRST, "api", "base_url"), "http://127.0.0.1:9/v1")],
    "tasks in flight": [put(("limits", "max_parallel_tasks"), 9)],
}


@pytest.mark.parametrize("edits", CHANGING.values(), ids=CHANGING)
def test_whatever_is_measured_changes_both_hashes(tmp_path: Path, edits: list[Edit]) -> None:
    plain, other = loaded(tmp_path, unpublished), loaded(tmp_path, unpublished, *edits)
    assert other.eval_config_hash != plain.eval_config_hash
    assert other.measurement_hash != plain.measurement_hash


def test_publication_asked_for_changes_the_hash(tmp_path: Path) -> None:
    assert loaded(tmp_path, unpublished).eval_config_hash != PINNED


@pytest.mark.parametrize("edits", OPERATIONAL.values(), ids=OPERATIONAL)
def test_how_it_is_asked_changes_only_the_config_hash(tmp_path: Path, edits: list[Edit]) -> None:
    plain, other = loaded(tmp_path), loaded(tmp_path, *edits)
    assert other.eval_config_hash != plain.eval_config_hash
    assert other.measurement_hash == plain.measurement_hash


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("configs/contract.json", b"{} \n"),
        ("pack/backend.py", b"TOOLS = {} \n"),
        ("pack/manifest.yaml", b'pack_id: kiln_studio\nversion: "1.0" \n'),
        ("run/run_manifest.json", json.dumps({**MANIFEST, "tier": "gold"}).encode()),
    ],
)
def test_one_byte_of_a_named_file_changes_the_hash(tmp_path: Path, file: str, data: bytes) -> None:
    path = loaded(tmp_path).path
    (tmp_path / file).write_bytes(data)
    found = load_settings(path)
    assert found.eval_config_hash != PINNED
    assert found.measurement_hash != loaded(tmp_path).measurement_hash


def test_payload_holds_no_path_and_no_directory(tmp_path: Path) -> None:
    text = json.dumps(loaded(tmp_path).hash_payload)
    assert str(tmp_path) not in text
    assert "output_dir" not in text


def test_policy_hash_is_of_contract_bytes_and_fields(tmp_path: Path) -> None:
    fields: dict[str, Any] = {key: value for key, value in CONFIG["scoring"].items() if key != "contract"}
    fields["intermediate_text_matching"] = "structural"
    found = loaded(tmp_path).scoring.policy_hash
    assert found == sha256_json({**fields, "contract": {"content_hash": sha256_of(b"{}\n")}})
    as_by_default = loaded(tmp_path, put(("scoring", "executable_continuation"), "gold"))
    assert as_by_default.scoring.policy_hash == found
    otherwise = loaded(tmp_path, unpublished, put(("scoring", "executable_continuation"), "live"))
    assert otherwise.scoring.policy_hash == sha256_json(
        {**fields, "executable_continuation": "live", "contract": {"content_hash": sha256_of(b"{}\n")}}
    )


def test_inference_hash_is_of_how_a_candidate_is_asked(tmp_path: Path) -> None:
    found = loaded(tmp_path).candidates[0]
    told = {
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 256,
        "seed": 3,
        "tool_choice": "auto",
        "provider_extensions": {},
    }
    assert inference_json(found.inference) == told
    assert found.inference_parameters_hash == sha256_of(
        json.dumps(told, sort_keys=True, separators=(",", ":")).encode()
    )


def test_builder_leaves_its_own_configuration_untouched(tmp_path: Path) -> None:
    before = copy.deepcopy(CONFIG)
    loaded(tmp_path, unpublished, put((*FIRST, "model"), "other"), beside())
    assert before == CONFIG
