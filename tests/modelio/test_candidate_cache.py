"""Recorded calls: what is concluded comes back as it was, written whole or not at all; damage is told by its line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_json, sha256_of
from bfcl.errors import EvalError, StageError
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.modelio.chat_reply import read_reply
from bfcl.modelio.exchange import CallStatus, concluded
from tests.modelio.chat_server import run
from tests.modelio.recording import ALL, BROKEN, RAW, attempt, filled, outcome, request

ROOT = Path(__file__).resolve().parents[2]
DRIVER = [sys.executable, str(Path(__file__).with_name("recording.py"))]
REMEDY = "\n  fix: restore the file from a copy; a record is never mended, and a new output directory starts a new file"
CONFLICT = "\n  fix: keep the one that the result was made with; to ask again, take a new output directory"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "candidate_io_cache.jsonl"


def refusal(act: Callable[[], object], path: Path, error: type[EvalError | StageError] = EvalError) -> list[str]:
    with pytest.raises(error) as caught:
        act()
    return [str(problem).replace(f"{path}", "cache") for problem in caught.value.problems]


def invalid(line: int | None, message: str) -> str:
    return f"cache{'' if line is None else f':{line}'}: eval_candidate_cache_invalid: {message}{REMEDY}"


# --- what goes in comes out ---


def test_reply_with_a_usage_that_is_no_count_comes_back_as_it_was(path: Path) -> None:
    raw = RAW.removesuffix("}") + f',"usage":{{"prompt_tokens":{"9" * 4300},"completion_tokens":3}}}}'
    response = read_reply(raw.encode(), selected_attempt=0, provider_request_id="r-1")
    filled(path, ("a", concluded(request("a").request_hash, [attempt(0, "completed", 200, raw)], response)))
    told = CandidateCache(path).find(request("a"))
    assert told is not None
    assert told.response == response
    assert response.tokens == (None, 3)


def test_absent_file_is_an_empty_cache_and_is_not_made(path: Path) -> None:
    cache = CandidateCache(path)
    assert (len(cache), cache.find(request("a")), list(cache.exchanges())) == (0, None, [])
    assert not path.parent.exists()


@pytest.mark.parametrize("status", ALL)
@pytest.mark.parametrize("before", [0, 2])
def test_every_concluded_call_comes_back_now_and_later(path: Path, status: CallStatus, before: int) -> None:
    told = outcome("a", status, before)
    assert (told.status, len(told.attempts)) == (status, before + 1)
    for cache in (filled(path, ("a", told)), CandidateCache(path)):
        found = cache.find(request("a"))
        assert found is not None
        assert (found.replayed, found.to_json()) == (True, told.to_json())
        assert found.attempts == told.attempts
        assert found.response == told.response
        assert cache.find(request("b")) is None


def test_exchanges_come_in_the_order_of_the_file(path: Path) -> None:
    cache = filled(path, ("b", outcome("b")), ("a", outcome("a", "retry_exhausted")))
    assert [(each.request, each.outcome.status) for each in cache.exchanges()] == [
        (request("b"), "completed"),
        (request("a"), "retry_exhausted"),
    ]


@pytest.mark.parametrize("status", ALL)
def test_endings_are_those_of_the_exchanges_without_their_making(path: Path, status: CallStatus) -> None:
    cache = filled(path, ("b", outcome("b", status, 2)), ("a", outcome("a", status)))
    assert [*cache.endings()] == [
        (
            each.request.request_hash,
            each.outcome.status,
            None if each.outcome.response is None else each.outcome.response.response_hash,
        )
        for each in cache.exchanges()
    ]
    path.write_bytes(path.read_bytes().replace(b'"observed_at":"2', b'"observed_at":"3', 1))
    with pytest.raises(EvalError, match="changed while it was in use"):
        [*cache.endings()]


def line_of(record_type: str, index: int | None, key: str, payload: Any) -> bytes:
    body = {
        "schema_version": "1.0",
        "record_type": record_type,
        "request_hash": key,
        "attempt_index": index,
        "payload": payload,
    }
    return canonical_json({**body, "record_hash": sha256_json(body)}) + b"\n"


def test_lines_have_the_fields_of_the_contract_in_canonical_form(path: Path) -> None:
    filled(path, ("a", outcome("a", before=1)))
    key = request("a").request_hash
    limited = {
        "attempt_index": 0,
        "observed_at": "2001-09-09T01:46:40.000+00:00",
        "status": "rate_limited",
        "retryable": True,
        "http_status": 429,
        "latency_s": 0.25,
        "raw_response_hash": None,
        "provider_request_id": "r-1",
        "diagnostic": "as it was",
        "retry_after_s": None,
    }
    usable = {
        **limited,
        "attempt_index": 1,
        "status": "completed",
        "retryable": False,
        "http_status": 200,
        "raw_response_hash": sha256_of(RAW.encode()),
        "diagnostic": None,
    }
    response: dict[str, Json] = {
        "provider_response_id": None,
        "provider_request_id": "r-1",
        "assistant_content": "đốt",
        "tool_calls": [],
        "finish_reason": None,
        "usage": None,
        "selected_attempt": 1,
        "raw_response_hash": sha256_of(RAW.encode()),
    }
    completion = {
        "schema_version": "1.0",
        "request_hash": key,
        "status": "completed",
        "attempts": [limited, usable],
        "response": response,
        "replayed": False,
    }
    assert path.read_bytes().splitlines(keepends=True) == [
        line_of("request", None, key, request("a").to_json()),
        line_of("attempt", 0, key, {**limited, "raw_response": None}),
        line_of("attempt", 1, key, {**usable, "raw_response": RAW}),
        line_of("completion", None, key, completion),
    ]


def test_files_are_their_owners_alone_under_any_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        filled(path, ("a", outcome("a")))
    finally:
        os.umask(before)
    lock = path.with_name(".candidate_io_cache.jsonl.lock")
    assert [oct(each.stat().st_mode & 0o777) for each in (path, lock)] == ["0o600", "0o600"]


def test_same_call_again_is_passed_over_and_another_outcome_is_a_conflict(path: Path) -> None:
    filled(path, ("z", outcome("z")), ("a", outcome("a")))
    before = path.read_bytes()
    filled(path, ("a", outcome("a")))
    assert path.read_bytes() == before
    assert refusal(lambda: filled(path, ("a", outcome("a", before=1))), path) == [
        f"cache:4: eval_candidate_cache_conflict: line 4 records another: `request` of {request('a').request_hash}; "
        f"expected one for good{CONFLICT}"
    ]
    assert path.read_bytes() == before


def test_calls_that_others_recorded_meanwhile_count(path: Path) -> None:
    one, other = CandidateCache(path), CandidateCache(path)
    run(one.put(request("a"), outcome("a")))
    run(other.put(request("b"), outcome("b")))
    assert other.find(request("a")) is not None
    assert one.find(request("b")) is None
    assert refusal(lambda: run(one.put(request("b"), outcome("b", before=1))), path)[0].startswith(
        "cache:4: eval_candidate_cache_conflict: "
    )


def test_many_who_wait_share_writes_and_each_is_on_disk_before_it_goes_on(path: Path) -> None:
    async def put(cache: CandidateCache, task_id: str) -> None:
        await cache.put(request(task_id), outcome(task_id))
        assert request(task_id).request_hash.encode() in path.read_bytes()

    async def all_at_once() -> None:
        cache = CandidateCache(path)
        await asyncio.gather(*[put(cache, f"t-{number}") for number in range(100)])

    synced: list[int] = []
    sync = os.fsync

    def noting(descriptor: int) -> None:
        synced.append(descriptor)
        sync(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", noting)
        run(all_at_once())
    assert len(CandidateCache(path)) == 100
    # The directory, and one write for all of them.
    assert len(synced) == 2


def test_failed_write_is_told_to_all_who_share_it_and_to_nobody_after(path: Path) -> None:
    cache = filled(path, ("a", outcome("a")))

    async def put() -> list[object]:
        calls = [("first", 0), ("a", 1), ("b", 0)]
        puts = [cache.put(request(task_id), outcome(task_id, before=before)) for task_id, before in calls]
        told = await asyncio.gather(*puts, return_exceptions=True)
        await cache.put(request("c"), outcome("c"))
        return list(told)

    told = run(put())
    assert [type(each) for each in told] == [EvalError] * 3
    assert [each.request.task_id for each in CandidateCache(path).exchanges()] == ["a", "c"]


# --- who else writes, and who is killed ---


def started(path: Path, own: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*DRIVER, str(path), own, str(count)], env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_processes_that_record_at_once_lose_nothing_and_repeat_nothing(path: Path) -> None:
    running = [started(path, own, 20) for own in ("one", "two")]
    assert [process.wait() for process in running] == [0, 0]
    assert len(CandidateCache(path)) == 60
    assert path.read_bytes().count(b"\n") == 180


def test_process_killed_while_it_records_leaves_what_reads_as_cut_short_and_imports_without_it(path: Path) -> None:
    filled(path, ("a", outcome("a")))
    before = path.read_bytes()
    assert started(path, "killed", 1).wait() == -signal.SIGKILL
    left = path.read_bytes()
    assert len(left) > len(before)
    assert refusal(lambda: CandidateCache(path), path) == [invalid(5, "ends within a record: the file was cut short")]
    assert [each.request.task_id for each in CandidateCache(path, imported=True).exchanges()] == ["a"]
    # Preserved, never mended.
    assert path.read_bytes() == left


def test_every_cut_is_noticed_and_imports_as_what_was_there_before(path: Path) -> None:
    filled(path, ("a", outcome("a")))
    first = path.read_bytes()
    filled(path, ("b", outcome("b", before=1)))
    whole = path.read_bytes()
    edges = [at for at in range(len(first), len(whole)) if whole[at : at + 1] == b"\n"]
    for cut in sorted({*range(len(first) + 1, len(whole), 97), *edges, *(at + 1 for at in edges[:-1])}):
        path.write_bytes(whole[:cut])
        at_line_end = whole[cut - 1 : cut] == b"\n"
        line = 4 if at_line_end else 4 + whole[len(first) : cut].count(b"\n")
        message = "the `request` has no `completion`" if at_line_end else "ends within a record: the file was cut short"
        assert refusal(lambda: CandidateCache(path), path) == [invalid(line, message)]
        assert len(CandidateCache(path, imported=True)) == 1


def test_disk_that_takes_no_more_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path, ("a", outcome("a")))
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    told = refusal(lambda: filled(path, ("b", outcome("b"))), path, StageError)
    assert told == [
        "storage_failed: cache: cannot write: No space left on device\n"
        "  fix: free space or make the directory writable, then run the same command again"
    ]
    assert path.read_bytes() == before


def test_lock_that_others_may_open_is_refused(path: Path) -> None:
    filled(path, ("a", outcome("a")))
    lock = path.with_name(".candidate_io_cache.jsonl.lock")
    lock.chmod(0o640)
    assert refusal(lambda: filled(path, ("b", outcome("b"))), lock) == [
        "cache: eval_candidate_cache_invalid: others than its owner may open this lock file; expected mode 0600\n"
        "  fix: chmod 600 cache"
    ]


# --- damage ---


def edited(line: bytes, **changes: Any) -> bytes:
    """The line with other values, its digest made anew."""
    record = json.loads(line)
    del record["record_hash"]
    record |= changes
    return canonical_json({**record, "record_hash": sha256_json(record)}) + b"\n"


def paid(line: bytes, **changes: Any) -> bytes:
    """The line with other values in its payload."""
    return edited(line, payload={**json.loads(line)["payload"], **changes})


FIELDS = "attempt_index, payload, record_hash, record_type, request_hash, schema_version"
BELONGS = "status, HTTP status and raw reply of the attempt do not belong together"
FOLLOWS = "the completion is not what follows from its attempts"


@pytest.mark.parametrize(
    ("place", "change", "line", "message"),
    [
        (3, lambda line: b"{\n", 4, "is no JSON"),
        (3, lambda line: b"\xff\n", 4, "is no JSON"),
        (3, lambda line: b"[" * 100_000 + b"\n", 4, "is no JSON"),
        (3, lambda line: b"\n" + line, 4, "is blank"),
        (3, lambda line: b" \n" + line, 4, "is blank"),
        (3, lambda line: b"[]\n", 4, f"has other fields than a record; expected {FIELDS}"),
        (3, lambda line: edited(line, key="x"), 4, f"has other fields than a record; expected {FIELDS}"),
        (3, lambda line: line.replace(b"kiln", b"oven"), 4, "`record_hash` is not that of the record"),
        (3, lambda line: edited(line, schema_version="1.1"), 4, '`schema_version` is not "1.0"'),
        (3, lambda line: edited(line, record_type="note"), 4, "`record_type` is none of attempt, completion, request"),
        (3, lambda line: edited(line, record_type=["x"]), 4, "`record_type` is none of attempt, completion, request"),
        (3, lambda line: edited(line, request_hash=1), 4, "`request_hash` is no text"),
        (4, lambda line: edited(line, attempt_index="0"), 5, "`attempt_index` is neither null nor a whole number"),
        (4, lambda line: edited(line, attempt_index=True), 5, "`attempt_index` is neither null nor a whole number"),
        (3, lambda line: edited(line, attempt_index=0), 4, "`attempt_index` is not null, and the record is no attempt"),
        (6, lambda line: edited(line, attempt_index=0), 7, "`attempt_index` is not null, and the record is no attempt"),
        (3, lambda line: paid(line, task_id="other"), 4, "`request_hash` is not that of the request"),
        (3, lambda line: paid(line, schema_version="2"), 4, "`request_hash` is not that of the request"),
        (3, lambda line: paid(line, more=1), 4, "the request has other fields than one, or of other types"),
        (3, lambda line: paid(line, turn_index="0"), 4, "the request has other fields than one, or of other types"),
        (3, lambda line: edited(line, payload=None), 4, "the request has other fields than one, or of other types"),
        (5, lambda line: edited(line, attempt_index=2), 6, "attempt 1 is missing before this one"),
        (4, lambda line: edited(line, attempt_index=None), 5, "attempt 0 is missing before this one"),
        (5, lambda line: paid(line, attempt_index=0), 6, "`attempt_index` of the attempt is not that of its record"),
        (5, lambda line: edited(line, payload=[]), 6, "the attempt has other fields than one, or of other types"),
        (5, lambda line: paid(line, latency_s=None), 6, "the attempt has other fields than one, or of other types"),
        (4, lambda line: paid(line, retryable=False), 5, BELONGS),
        (4, lambda line: paid(line, http_status=503), 5, BELONGS),
        (4, lambda line: paid(line, http_status=None), 5, BELONGS),
        (4, lambda line: paid(line, raw_response="what it said"), 5, BELONGS),
        (5, lambda line: paid(line, raw_response=None), 6, BELONGS),
        (5, lambda line: paid(line, status="ok"), 6, BELONGS),
        (5, lambda line: paid(line, raw_response=RAW + " "), 6, "`raw_response_hash` is not that of the raw reply"),
        (
            5,
            lambda line: paid(line, status="malformed_response"),
            6,
            "the raw reply is not what the attempt's status says of it",
        ),
        (
            5,
            lambda line: paid(line, raw_response=BROKEN, raw_response_hash=sha256_of(BROKEN.encode())),
            6,
            "the raw reply is not what the attempt's status says of it",
        ),
        (6, lambda line: paid(line, status="provider_rejected"), 7, FOLLOWS),
        (6, lambda line: paid(line, response=None), 7, FOLLOWS),
        (6, lambda line: paid(line, replayed=True), 7, FOLLOWS),
        (6, lambda line: paid(line, attempts=[]), 7, FOLLOWS),
        (3, lambda line: b"", 4, "the `attempt` belongs to nothing before it"),
        (6, lambda line: b"", 4, "the `request` has no `completion`"),
        (6, lambda line: edited(line, request_hash="x"), 7, "the `completion` belongs to nothing before it"),
    ],
)
def test_damage_is_told_by_its_line(
    path: Path, place: int, change: Callable[[bytes], bytes], line: int, message: str
) -> None:
    filled(path, ("z", outcome("z")), ("a", outcome("a", before=1)), ("y", outcome("y")))
    lines = path.read_bytes().splitlines(keepends=True)
    assert (len(lines), len(CandidateCache(path))) == (10, 3)
    lines[place] = change(lines[place])
    path.write_bytes(b"".join(lines))
    assert invalid(line, message) in refusal(lambda: CandidateCache(path), path)
    # What is damaged in the middle was not left by a crash.
    assert invalid(line, message) in refusal(lambda: CandidateCache(path, imported=True), path)


def test_damaged_line_alone_is_told_and_every_one_is(path: Path) -> None:
    filled(path, *((name, outcome(name, before=1)) for name in "abc"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1], lines[8] = b"x\n", b"\n"
    path.write_bytes(b"".join(lines))
    assert refusal(lambda: CandidateCache(path), path) == [invalid(2, "is no JSON"), invalid(9, "is blank")]


def test_attempt_after_one_that_ended_the_call_is_refused(path: Path) -> None:
    filled(path, ("a", outcome("a", "provider_rejected")))
    lines = path.read_bytes().splitlines(keepends=True)
    again = edited(lines[1], attempt_index=1, payload={**json.loads(lines[1])["payload"], "attempt_index": 1})
    path.write_bytes(b"".join([*lines[:2], again, lines[2]]))
    assert refusal(lambda: CandidateCache(path), path) == [invalid(3, "follows an attempt that ended the call")]


def test_completion_without_an_attempt_is_refused(path: Path) -> None:
    filled(path, ("a", outcome("a")))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert refusal(lambda: CandidateCache(path), path) == [invalid(2, "the completion cites no attempt")]


def test_repeated_call_is_refused_and_another_outcome_in_the_file_is_a_conflict(path: Path, tmp_path: Path) -> None:
    filled(path, ("a", outcome("a")))
    once = path.read_bytes()
    path.write_bytes(once + once)
    assert refusal(lambda: CandidateCache(path), path) == [invalid(4, "repeats what line 1 records")]
    other = tmp_path / "other"
    filled(other, ("a", outcome("a", before=1)))
    path.write_bytes(once + other.read_bytes())
    assert refusal(lambda: CandidateCache(path), path) == [
        f"cache:4: eval_candidate_cache_conflict: line 1 records another: `request` of {request('a').request_hash}; "
        f"expected one for good{CONFLICT}"
    ]


def broken(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "changed":
        path.write_bytes(data.replace(b"r-1", b"r-2"))
    elif how == "cut short":
        path.write_bytes(data[:-5])
    elif how == "replaced":
        other = path.with_name("other")
        other.write_bytes(data)
        other.replace(path)
    elif how == "other calls":
        filled(path.with_name("other"), ("x", outcome("x")), ("y", outcome("y")))
        path.write_bytes(path.with_name("other").read_bytes())
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("how", "reading", "appending"),
    [
        ("changed", invalid(4, "changed while it was in use"), None),
        ("cut short", invalid(4, "changed while it was in use"), "was replaced or cut short while it was in use"),
        ("replaced", None, "was replaced or cut short while it was in use"),
        ("other calls", invalid(4, "changed while it was in use"), None),
        ("vanished", invalid(None, "vanished while it was in use"), "was replaced or cut short while it was in use"),
    ],
)
def test_file_that_changes_under_a_run_is_noticed(
    path: Path, how: str, reading: str | None, appending: str | None
) -> None:
    cache = filled(path, ("a", outcome("a")), ("b", outcome("b")))
    broken(path, how)
    if reading is not None:
        assert refusal(lambda: cache.find(request("b")), path) == [reading]
    if appending is not None:
        told = refusal(lambda: run(cache.put(request("c"), outcome("c"))), path)
        assert told == [invalid(None, appending)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is no regular file"),
        (lambda path: path.symlink_to("elsewhere"), "is a symbolic link"),
        (lambda path: path.mkdir(), "is no regular file"),
    ],
)
def test_what_is_no_file_is_refused(path: Path, make: Callable[[Path], object], message: str) -> None:
    path.parent.mkdir()
    make(path)
    assert refusal(lambda: CandidateCache(path), path) == [invalid(None, message)]


def test_no_bit_can_flip_unnoticed(path: Path) -> None:
    filled(path, ("a", outcome("a")))
    data = path.read_bytes()
    for at in range(0, len(data), 5):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert refusal(lambda: CandidateCache(path), path), data[at:]
