"""Modes, scoring policy, limits, repeats and the held-out section."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.settings.policies import CONTRACT
from tests.evaluate.settings.builder import Edit, held_out, loaded, put, told, unpublished

SCHEMA = "eval_config_schema_invalid"
WORDS = "`trace`, `executable`, `held_out_eval`"

CASES: list[tuple[str, list[Edit], list[str]]] = [
    (
        "mode as a word",
        [put(("eval", "mode"), "trace")],
        [f"10: {SCHEMA}: eval.mode is <str len=5>; expected a list of {WORDS}\n  fix: write a list, like `[trace]`"],
    ),
    (
        "no mode",
        [put(("eval", "mode"), [])],
        [
            f"10: unsupported_eval_mode: eval.mode is <list len=0>; expected at least one of {WORDS}\n"
            "  fix: write `[trace]`"
        ],
    ),
    (
        "unknown and repeated modes",
        [put(("eval", "mode"), ["trac", "trace", "trace", 3])],
        [
            f"11: unsupported_eval_mode: eval.mode[0] is no mode; expected one of {WORDS}\n  fix: did you mean "
            f"`trace`?",
            "13: unsupported_eval_mode: eval.mode[2] repeats a mode; expected each once\n  fix: remove it",
            f"14: unsupported_eval_mode: eval.mode[3] is no mode; expected one of {WORDS}\n  fix: remove it",
        ],
    ),
    (
        "mode that is cut short",
        [put(("eval", "mode"), ["exec"])],
        [
            f"11: unsupported_eval_mode: eval.mode[0] is no mode; expected one of {WORDS}\n  fix: did you "
            "mean `executable`?"
        ],
    ),
    (
        "mode that is cut too short",
        [put(("eval", "mode"), ["ex"])],
        [f"11: unsupported_eval_mode: eval.mode[0] is no mode; expected one of {WORDS}\n  fix: remove it"],
    ),
    (
        "matching that is cut short",
        [put(("scoring", "argument_matching"), "schema")],
        [
            f"15: {SCHEMA}: scoring.argument_matching is <str len=6>; expected `schema_then_canonical` or "
            "`canonical_only`\n  fix: did you mean `schema_then_canonical`?"
        ],
    ),
    (
        "contract that is not there",
        [put(("scoring", "contract"), "no.json")],
        [
            "14: eval_config_path_invalid: scoring.contract is <str len=7>; expected a file that can be read; it "
            "leads to `configs`, and `no.json` is not in it\n"
            "  fix: write `bundled` for the one that this release scores by"
        ],
    ),
    (
        "contract with a name no file system takes",
        [put(("scoring", "contract"), "n" * 300)],
        [
            "14: eval_config_path_invalid: scoring.contract is <str len=300>; expected a file that can be read; it "
            "leads to `configs`, and <str len=300> is not in it\n"
            "  fix: write `bundled` for the one that this release scores by"
        ],
    ),
    (
        "unknown matching",
        [put(("scoring", "argument_matching"), "canonical")],
        [
            f"15: {SCHEMA}: scoring.argument_matching is <str len=9>; expected `schema_then_canonical` or "
            "`canonical_only`\n  fix: did you mean `canonical_only`?"
        ],
    ),
    (
        "quoted switch",
        [put(("scoring", "respect_call_order"), "true")],
        [
            f"17: {SCHEMA}: scoring.respect_call_order is <str len=4>; expected true or false\n"
            "  fix: write true or false, without quotes"
        ],
    ),
    (
        "repair in an executable run",
        [put(("scoring", "allow_llm_repair"), True), unpublished],
        [
            "19: eval_executable_scoring_policy_unsupported: scoring.allow_llm_repair is true; expected false: "
            "no model "
            "repairs what a candidate wrote\n  fix: set it to false"
        ],
    ),
    (
        "repair in a trace run",
        [put(("scoring", "allow_llm_repair"), True), put(("eval", "mode"), ["trace"]), unpublished],
        [
            "18: eval_trace_scoring_policy_unsupported: scoring.allow_llm_repair is true; expected false: no "
            "model repairs "
            "what a candidate wrote\n  fix: set it to false"
        ],
    ),
    (
        "assertions of a trace run",
        [put(("scoring", "task_success"), "assertions_only"), put(("eval", "mode"), ["trace"]), unpublished],
        [
            "19: eval_trace_scoring_policy_unsupported: scoring.task_success is <str len=15>; expected "
            "`all_applicable_gates`: a trace runs no assertion\n"
            "  fix: write `all_applicable_gates`, or add `executable` to `eval.mode`"
        ],
    ),
    (
        "live continuation of a trace run",
        [put(("scoring", "executable_continuation"), "live"), put(("eval", "mode"), ["trace"]), unpublished],
        [
            "20: eval_trace_scoring_policy_unsupported: scoring.executable_continuation is <str len=4>; "
            "expected `gold`: no "
            "result is live here\n  fix: remove it, or add `executable` to `eval.mode`"
        ],
    ),
    (
        "boolean for a number",
        [put(("limits", "max_retries"), True)],
        [
            f"24: {SCHEMA}: limits.max_retries is true; expected an integer of at least 0\n"
            "  fix: set `max_retries` to an integer of at least 0"
        ],
    ),
    (
        "fraction for an integer",
        [put(("limits", "max_turns"), 3.0)],
        [
            f"22: {SCHEMA}: limits.max_turns is 3.0; expected an integer of at least 1\n"
            "  fix: set `max_turns` to an integer of at least 1"
        ],
    ),
    (
        "quoted number",
        [put(("limits", "max_parallel_tasks"), "5")],
        [
            f"23: {SCHEMA}: limits.max_parallel_tasks is <str len=1>; expected an integer of at least 1\n"
            "  fix: write the number, without quotes"
        ],
    ),
    (
        "no time at all",
        [put(("limits", "tool_timeout_s"), 0)],
        [
            f"25: {SCHEMA}: limits.tool_timeout_s is 0; expected a number of seconds above 0\n"
            "  fix: set `tool_timeout_s` to a number of seconds above 0"
        ],
    ),
    (
        "number beyond every float",
        [put(("limits", "episode_timeout_s"), 10**400)],
        [
            f"27: {SCHEMA}: limits.episode_timeout_s is 1{'0' * 56}...; expected a number of seconds above 0\n"
            "  fix: set `episode_timeout_s` to a number of seconds above 0"
        ],
    ),
    (
        "episode shorter than an answer",
        [put(("limits", "episode_timeout_s"), 29.5)],
        [
            f"27: {SCHEMA}: limits.episode_timeout_s is 29.5; expected at least 30.0, the longer of "
            f"`tool_timeout_s` and "
            "`candidate_timeout_s`\n  fix: raise it, or lower those two"
        ],
    ),
    (
        "repeats out of range",
        [put(("schema_version",), "1.3"), put(("repeats",), {"trials": 0, "seed_policy": "random"})],
        [
            f"60: {SCHEMA}: repeats.trials is 0; expected an integer of at least 1\n"
            "  fix: set `trials` to an integer of at least 1",
            f"61: {SCHEMA}: repeats.seed_policy is <str len=6>; expected `fixed` or `increment`\n"
            "  fix: set `seed_policy` to `fixed` or `increment`",
        ],
    ),
    (
        "nothing held out",
        [held_out, put(("held_out_eval", "fixture_refs"), [])],
        [
            f"60: {SCHEMA}: held_out_eval.fixture_refs is <list len=0>; expected references, as `template_ids` "
            f"is empty, "
            "too: nothing would be held out\n  fix: copy what the pack's held-out policy reserves"
        ],
    ),
    (
        "template held out twice",
        [held_out, put(("held_out_eval", "template_ids"), ["a", "a"])],
        [
            f"62: {SCHEMA}: held_out_eval.template_ids is <list len=2>; expected a list of texts, none of them twice\n"
            "  fix: set `template_ids` to a list of texts, none of them twice"
        ],
    ),
    (
        "policy without a digest",
        [held_out, put(("held_out_eval", "policy_hash"), "sha256:ab")],
        [
            f"59: {SCHEMA}: held_out_eval.policy_hash is <str len=9>; expected `sha256:` and 64 lower-case hex digits\n"
            "  fix: set `policy_hash` to `sha256:` and 64 lower-case hex digits"
        ],
    ),
]


@pytest.mark.parametrize(("edits", "messages"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_policy_is_refused(tmp_path: Path, edits: list[Edit], messages: list[str]) -> None:
    assert told(tmp_path, *edits) == [f"eval.yaml:{message}" for message in messages]


def test_bundled_contract_is_the_documents_of_the_package(tmp_path: Path) -> None:
    scoring = loaded(tmp_path, put(("scoring", "contract"), "bundled")).scoring
    assert (scoring.contract, scoring.contract_hash) == (CONTRACT, sha256_file(CONTRACT))


def test_copy_of_the_bundled_contract_is_the_same_policy(tmp_path: Path) -> None:
    bundled = loaded(tmp_path, put(("scoring", "contract"), "bundled"))
    copied = loaded(tmp_path, contract=CONTRACT.read_bytes())
    assert copied.scoring.policy_hash == bundled.scoring.policy_hash
    assert copied.eval_config_hash == bundled.eval_config_hash


def test_live_continuation_bars_publication(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("scoring", "executable_continuation"), "live"), unpublished)
    assert settings.scoring.executable_continuation == "live"
    assert settings.non_publication_reasons == ("publication.requested", "scoring.executable_continuation")
