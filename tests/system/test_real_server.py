"""Candidates behind a server that is not ours: llama.cpp, asked over HTTP as any provider is.

Its tiny model has random weights; `llama_server` tells how one can make it say a given thing all the same. Nothing here
runs unless asked for: `BFCL_REAL_SERVER` is a Python that has the server, or `install` for one made for the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bfcl.tables.task_results import read_task_results
from tests.evaluate.arena import CANARY, KEY, Arena, Data, Edit, publish_arena, put
from tests.system.package_venv import package_venv

REQUIREMENTS = ["gguf==0.19.0", "xllamacpp==2026.10.11549"]
VARIABLE = "BFCL_REAL_SERVER"
SERVER = Path(__file__).with_name("llama_server.py")
ROOMY, NARROW = 16384, 512
"""Tokens of context, of which a prompt takes some 1,600."""

LOOKED_UP = "check_one_copy"
ARGUMENTS = '{"book_id": "BK-103"}'
REST = f'{{"name": "get_book_status", "arguments": {ARGUMENTS}}}</tool_call>'
"""Of the one call that this task expects, all behind what opens it."""
WORDS = "I have looked it up."
CANDIDATES = ["chatty", "crammed", "curt", "guessing", "steered"]


class Real(NamedTuple):
    """Where the server listens, with room for every prompt and for none, and the numbers of its tokens."""

    roomy_url: str
    narrow_url: str
    tokens: Mapping[str, int]

    def bias(self, **by_name: float) -> list[list[float]]:
        """The field `logit_bias` as this server takes it."""
        names = {"call": "<tool_call>", "rest": REST, "words": WORDS, "end": "<|im_end|>", "quote": '"'}
        return [[self.tokens[names[name]], weight] for name, weight in by_name.items()]


@pytest.fixture(scope="module")
def real() -> Iterator[Real]:
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        pytest.skip(f"{VARIABLE} names no Python that has {' and '.join(REQUIREMENTS)}; `install` makes one")
    python = package_venv("llama", REQUIREMENTS) if chosen == "install" else Path(chosen)
    imported = subprocess.run([python, "-c", "import gguf, xllamacpp"], capture_output=True, text=True, check=False)
    if imported.returncode:
        pytest.skip(f"{VARIABLE} is a Python that cannot import the server: {imported.stderr.splitlines()[-1]}")
    command = [str(python), str(SERVER)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told = {"key": CANARY, "texts": [REST, WORDS], "contexts": [ROOMY, NARROW]}
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        ready = json.loads(process.stdout.readline())
        roomy, narrow = ready["base_urls"]
        yield Real(roomy, narrow, ready["tokens"])
        process.stdin.close()
    assert process.returncode == 0


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return publish_arena(tmp_path_factory.mktemp("real") / "arena")


def candidate(alias: str, base_url: str, extensions: Data | None = None, **inference: object) -> Data:
    """One candidate; the model's name is what its alias is, for this server answers to any."""
    settled = {"temperature": 1.0, "top_p": 1.0, "seed": 1, "max_tokens": 48, "tool_choice": "auto"}
    return {
        "alias": alias,
        "model": alias,
        "provider": "llamacpp",
        "provider_api_version": "v1",
        "api": {"base_url": base_url, "api_key_env": KEY},
        "model_identity": {"source": "llamacpp", "model": alias},
        "inference": settled | inference | {"provider_extensions": {"llamacpp.v1": extensions or {}}},
    }


def among(real: Real) -> Edit:
    """The five candidates."""
    # What stands in the prompt is unlikely from then on: so a thing is said once, and an end, which stands in every
    # prompt, comes after it.
    once = {"presence_penalty": 200, "repeat_last_n": ROOMY}
    says = {**once, "logit_bias": real.bias(words=60, end=220)}
    calls = {**once, "logit_bias": real.bias(call=150, rest=100, words=60, end=220)}
    # Of a call only that it opens; the rest is drawn from what the server's grammar for the tools leaves.
    drawn = real.bias(call=150, rest=-1000, words=-1000, quote=208, end=208)
    guesses = {**once, "logit_bias": drawn, "parallel_tool_calls": False}
    greedy = {"temperature": 0, "top_p": None}
    return put(
        "candidates",
        value=[
            candidate("chatty", real.roomy_url, says, **greedy),
            candidate("crammed", real.narrow_url),
            candidate("curt", real.roomy_url, max_tokens=3),
            candidate("guessing", real.roomy_url, guesses, tool_choice="required", max_tokens=192),
            candidate("steered", real.roomy_url, calls, **greedy),
        ],
    )


class Call(NamedTuple):
    """What the cache has of one request; `latency_s` is of its shortest attempt, `reply` is as it was read."""

    task: str
    status: str
    http: tuple[int | None, ...]
    latency_s: float
    reply: Data | None


class Measured(NamedTuple):
    arena: Arena
    calls: Mapping[str, list[Call]]
    """By candidate."""
    statuses: Mapping[str, Mapping[str, tuple[str, bool]]]
    """By candidate and task: episode status and success."""


@pytest.fixture(scope="module")
def measured(real: Real, arena: Arena) -> Measured:
    """One evaluation of all five, in a process of its own."""
    arena.configure("mine", real.roomy_url, among(real), put("limits", "candidate_timeout_s", value=60.0))
    ended = arena.run("bfcl", "eval", "--config", str(arena.config("mine")))
    # Nothing of `crammed` fits its server.
    assert ended.status == 3, ended.err
    assert "eval_nothing_measured: crammed: " in ended.err
    calls: dict[str, list[Call]] = {}
    lines = (arena.out("mine") / "candidate_io_cache.jsonl").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    requests = {record["request_hash"]: record["payload"] for record in records if record["record_type"] == "request"}
    for record in records:
        if record["record_type"] == "completion":
            request, told = requests[record["request_hash"]], record["payload"]
            http = tuple(attempt["http_status"] for attempt in told["attempts"])
            spent = min(attempt["latency_s"] for attempt in told["attempts"])
            call = Call(short(request["task_id"]), told["status"], http, spent, told["response"])
            calls.setdefault(request["candidate_alias"], []).append(call)
    statuses: dict[str, dict[str, tuple[str, bool]]] = {}
    for row in read_task_results(arena.out("mine") / "eval_task_results.parquet"):
        verdict = (row["episode_status"], row["task_success"])
        statuses.setdefault(row["candidate_alias"], {})[short(row["task_id"])] = verdict
    return Measured(arena, calls, statuses)


def short(task_id: str) -> str:
    return task_id.split("__")[1]


def replies(measured: Measured, alias: str) -> list[dict[str, Any]]:
    """Every reply of a candidate whose every call was answered."""
    found = [call.reply for call in measured.calls[alias] if call.reply is not None]
    assert len(found) == len(measured.calls[alias])
    return found


def test_server_accepts_every_request_that_fits(measured: Measured) -> None:
    ended = {alias: {(call.status, call.http) for call in calls} for alias, calls in measured.calls.items()}
    assert ended == {
        "chatty": {("completed", (200,))},
        "crammed": {("provider_rejected", (400,))},
        "curt": {("completed", (200,))},
        "guessing": {("completed", (200,))},
        "steered": {("completed", (200,))},
    }


def test_call_and_its_result_pass_through_the_server_to_success(measured: Measured) -> None:
    asked, told = (call.reply for call in measured.calls["steered"] if call.task == LOOKED_UP)
    assert asked is not None
    assert told is not None
    (made,) = asked["tool_calls"]
    assert (made["function_name"], made["raw_arguments"]) == ("get_book_status", ARGUMENTS)
    assert (made["type"], made["arguments_status"]) == ("function", "valid_object")
    assert made["id"]
    assert (asked["finish_reason"], asked["assistant_content"]) == ("tool_calls", "")
    assert (told["finish_reason"], told["assistant_content"], told["tool_calls"]) == ("stop", WORDS, [])
    # The prompt grew by the call and by the result that was released.
    assert told["usage"]["prompt_tokens"] > asked["usage"]["prompt_tokens"]
    (success,) = {task for task, (_, success) in measured.statuses["steered"].items() if success}
    assert success == LOOKED_UP
    assert {status for status, success in measured.statuses["steered"].values() if not success} == {
        "candidate_mismatch"
    }


def test_words_advance_a_text_turn_and_fail_a_call_turn(measured: Measured) -> None:
    said = replies(measured, "chatty")
    assert {reply["finish_reason"] for reply in said} == {"stop"}
    assert not any(reply["tool_calls"] for reply in said)
    # Once more where the first words were what the task asks for; they stand in that prompt, so there are none left.
    assert sorted(reply["assistant_content"] for reply in said) == ["", *[WORDS] * 4]
    assert measured.statuses["chatty"] == {
        "borrow_with_confirmation": ("candidate_mismatch", False),
        "check_one_copy": ("candidate_mismatch", False),
        "compare_two_copies": ("candidate_mismatch", False),
        "request_outside_the_desk": ("completed", True),
    }


def test_required_call_comes_back_with_arguments_that_are_an_object(measured: Measured) -> None:
    guessed = replies(measured, "guessing")
    assert [len(reply["tool_calls"]) for reply in guessed] == [1] * 4
    whole = [reply for reply in guessed if reply["finish_reason"] == "tool_calls"]
    assert whole
    assert {call["arguments_status"] for reply in whole for call in reply["tool_calls"]} == {"valid_object"}
    assert set(measured.statuses["guessing"].values()) == {("candidate_mismatch", False)}


def test_reply_cut_off_at_its_limit_is_the_candidates_failure(measured: Measured) -> None:
    for reply in replies(measured, "curt"):
        assert (reply["finish_reason"], reply["usage"]["completion_tokens"]) == ("length", 3)
    assert set(measured.statuses["curt"].values()) == {("candidate_mismatch", False)}


def test_prompt_over_the_servers_context_is_counted_as_a_rejection(measured: Measured) -> None:
    report = measured.arena.report("mine")
    assert set(measured.statuses["crammed"].values()) == {("candidate_call_failed", False)}
    assert report["provider_rejections"] == {alias: {} for alias in CANDIDATES} | {"crammed": {"400": 4}}
    stops = {one["alias"]: one["non_candidate_stops"] for one in report["candidates"]}
    assert stops == dict.fromkeys(CANDIDATES, 0) | {"crammed": 4}


def test_tokens_and_latency_of_every_reply_are_recorded(measured: Measured) -> None:
    for alias in ("chatty", "curt", "guessing", "steered"):
        for reply in replies(measured, alias):
            usage = reply["usage"]
            assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    assert all(call.latency_s > 0 for calls in measured.calls.values() for call in calls)


def test_evaluation_replays_without_the_key_and_verifies(measured: Measured) -> None:
    before = measured.arena.files("mine")
    again = measured.arena.run("bfcl", "eval", "--config", str(measured.arena.config("mine")), key=None)
    assert again.status == 3, again.err
    assert "eval_nothing_measured: crammed: " in again.err
    assert measured.arena.files("mine") == before
    verified = measured.arena.run("bfcl", "eval-verify", str(measured.arena.out("mine")), key=None)
    assert verified.status == 0, verified.err


def test_key_stands_in_no_file_of_the_result(measured: Measured) -> None:
    files = [path for path in measured.arena.out("mine").rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not any(CANARY.encode() in path.read_bytes() for path in files)


def test_wrong_key_stops_the_run_and_is_not_told(real: Real, arena: Arena) -> None:
    arena.configure("barred", real.roomy_url, put("candidates", value=[candidate("chatty", real.roomy_url)]))
    wrong = "another-key-0a1b2c3d4e5f"
    ended = arena.run("bfcl", "eval", "--config", str(arena.config("barred")), "--format", "human", key=wrong)
    assert ended.status == 5
    assert "eval_candidate_authentication_failed" in ended.err
    assert "the endpoint answered HTTP 401 (" in ended.err
    assert wrong not in ended.out + ended.err
    assert not (arena.out("barred") / "eval_manifest.json").exists()
