"""Recorded replies: what is appended comes back, whoever appends beside it or is killed; damage is told by line."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_json
from bfcl.errors import BfclError, ModelError, StageError
from bfcl.modelio.cache import RoleCache
from bfcl.modelio.request import RoleRequest, prompt_hash

ROOT = Path(__file__).resolve().parents[2]
DRIVER = [sys.executable, str(Path(__file__).with_name("appending.py"))]
REMEDY = "\n  fix: restore the file from a copy, or delete the line to have it asked for again"


def request(text: str, model: str = "m") -> RoleRequest:
    return RoleRequest(
        model_canonical=model,
        prompt_hash=prompt_hash("v", "", ""),
        input=text,
        inference_parameters={},
        output_schema={},
        seed=0,
    )


def record(text: str, response: Json, /, **changes: Json) -> bytes:
    one = request(text)
    fields: dict[str, Json] = {
        "schema_version": "1.1",
        "request_hash": one.request_hash,
        "model_canonical": one.model_canonical,
        "input_hash": one.input_hash,
        "response_hash": sha256_json(response),
        "response": response,
    }
    return canonical_json({**fields, **changes}) + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stage_cache" / "role_io_cache.jsonl"


def filled(path: Path, *replies: tuple[str, Json]) -> RoleCache:
    cache = RoleCache(path)
    cache.put([(request(text), response) for text, response in replies])
    return cache


def refusal(path: Path, error: type[BfclError] = ModelError) -> list[str]:
    with pytest.raises(error) as caught:
        RoleCache(path)
    return [str(problem).replace(f"{path}", "cache") for problem in caught.value.problems]


def written(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


# --- what goes in comes out ---


def test_absent_file_is_an_empty_cache_and_is_not_made(path: Path) -> None:
    cache = RoleCache(path)
    assert (len(cache), cache.response_hash(request("a"))) == (0, None)
    assert not path.parent.exists()


def test_replies_come_back_now_and_later(path: Path) -> None:
    response: Json = {"wording": "đốt lò", "numbers": [1, 2.5, None]}
    for cache in (filled(path, ("a", response)), RoleCache(path)):
        assert cache.response_hash(request("a")) == sha256_json(response)
        assert cache.reply(request("a")) == response
        assert cache.response_hash(request("b")) is None
        assert cache.response_hash(request("a", "other")) is None


def test_line_has_the_fields_of_the_contract_in_canonical_form(path: Path) -> None:
    filled(path, ("a", {"x": "đ"}), ("b", 1))
    assert path.read_bytes() == record("a", {"x": "đ"}) + record("b", 1)


def test_files_are_their_owners_alone_under_any_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        filled(path, ("a", 1))
    finally:
        os.umask(before)
    lock = path.with_name(".role_io_cache.jsonl.lock")
    assert [oct(each.stat().st_mode & 0o777) for each in (path, lock)] == ["0o600", "0o600"]


def test_same_reply_again_is_passed_over(path: Path) -> None:
    cache = filled(path, ("a", 1))
    before = path.read_bytes()
    cache.put([(request("a"), 1)])
    assert path.read_bytes() == before


def test_another_reply_to_a_known_request_is_refused_and_nothing_is_appended(path: Path) -> None:
    cache = filled(path, ("z", 0), ("a", 1))
    before = path.read_bytes()
    with pytest.raises(ModelError) as caught:
        cache.put([(request("b"), 5), (request("a"), 2)])
    assert str(caught.value) == (
        f"{path}:2: model_io_cache_conflict: line 2 records another reply to {request('a').request_hash} than a reply "
        "that came now\n"
        "  fix: keep the one that your publication was made with; a recorded reply is never replaced"
    )
    assert path.read_bytes() == before


def test_replies_that_others_appended_meanwhile_count(path: Path) -> None:
    one, other = RoleCache(path), RoleCache(path)
    one.put([(request("a"), 1)])
    with pytest.raises(ModelError, match="model_io_cache_conflict"):
        other.put([(request("a"), 2)])
    other.put([(request("b"), 2)])
    assert other.reply(request("a")) == 1
    assert path.read_bytes() == record("a", 1) + record("b", 2)


# --- who else writes, and who is killed ---


def run(path: Path, own: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*DRIVER, str(path), own, str(count)], env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_processes_that_append_at_once_lose_nothing_and_repeat_nothing(path: Path) -> None:
    running = [run(path, own, 40) for own in ("one", "two")]
    assert [process.wait() for process in running] == [0, 0]
    lines = path.read_bytes().splitlines()
    assert len(lines) == len(set(lines)) == len(RoleCache(path)) == 120


def test_process_killed_while_it_appends_leaves_a_cache_that_reads_and_takes_more(path: Path) -> None:
    cache = filled(path, ("a", 1))
    assert run(path, "killed", 1).wait() == -signal.SIGKILL
    assert not path.read_bytes().endswith(b"\n")
    assert len(RoleCache(path)) == 1
    cache.put([(request("b"), 2)])
    assert path.read_bytes() == record("a", 1) + record("b", 2)


def test_append_cut_short_reads_as_what_was_there_before(path: Path) -> None:
    first, last = record("a", "đ"), record("b", {"x": ["đốt", 1.5]})
    for cut in {*range(0, len(last), 11), *range(len(last) - 3, len(last))}:
        written(path, first, last[:cut])
        cache = RoleCache(path)
        # A record that lacks its line feed alone is whole.
        assert (cache.response_hash(request("b")) is not None) is (cut == len(last) - 1)
        cache.put([(request("c"), 3)])
        kept = last if cut == len(last) - 1 else b""
        assert path.read_bytes() == first + kept + record("c", 3)
        assert len(RoleCache(path)) == 2 + bool(kept)


def test_disk_that_takes_no_more_leaves_the_file_as_it_was(path: Path) -> None:
    cache = filled(path, ("a", 1))
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(StageError) as caught:
            cache.put([(request("b"), "x" * 200)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert str(caught.value).startswith(f"storage_failed: {path}: cannot write: File too large\n")
    assert path.read_bytes() == before


def test_lock_that_others_may_open_is_refused(path: Path) -> None:
    cache = filled(path, ("a", 1))
    lock = path.with_name(".role_io_cache.jsonl.lock")
    lock.chmod(0o640)
    with pytest.raises(ModelError) as caught:
        cache.put([(request("b"), 2)])
    assert str(caught.value) == (
        f"{lock}: model_io_cache_invalid: others than its owner may open this lock file; expected mode 0600\n"
        f"  fix: chmod 600 {lock}"
    )


# --- damage ---


def test_blank_lines_and_repeated_records_pass(path: Path) -> None:
    written(path, b"\n", record("a", 1), b"  \n", record("a", 1), record("b", 2))
    cache = RoleCache(path)
    assert (len(cache), cache.reply(request("b"))) == (2, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{\n", "is no JSON"),
        (b"\xff\n", "is no JSON"),
        (b"[" * 100_000 + b"\n", "is no JSON"),
        (
            b"[]\n",
            "has other fields than a record; expected input_hash, model_canonical, request_hash, response, "
            "response_hash, schema_version",
        ),
        (
            record("a", 1, more=1),
            "has other fields than a record; expected input_hash, model_canonical, request_hash, "
            "response, response_hash, schema_version",
        ),
        (record("a", 1, schema_version="1.0"), '`schema_version` is not "1.1"'),
        (record("a", 1, request_hash=1), "`request_hash` is no text"),
        (record("a", 1, response=2), "`response_hash` is not that of the response"),
        (record("a", 1, response_hash=None), "`response_hash` is not that of the response"),
    ],
    ids=["cut", "bytes", "deep", "list", "more", "version", "key", "response", "hash"],
)
def test_damaged_line_is_refused_by_its_number(path: Path, line: bytes, message: str) -> None:
    written(path, record("z", 0), line, record("b", 2))
    assert refusal(path) == [f"cache:2: model_io_cache_invalid: {message}{REMEDY}"]


def test_every_damaged_line_is_told(path: Path) -> None:
    written(path, b"x\n", record("a", 1), b"y\n")
    assert [text.partition(": ")[0] for text in refusal(path)] == ["cache:1", "cache:3"]


def test_line_feed_turned_into_something_else_is_damage(path: Path) -> None:
    written(path, record("a", 1), record("b", 2)[:-1] + b"!")
    assert refusal(path) == [f"cache:2: model_io_cache_invalid: something follows a whole record{REMEDY}"]


def test_two_replies_to_one_request_are_a_conflict(path: Path) -> None:
    written(path, record("a", 1), record("b", 1), record("a", 2))
    assert refusal(path) == [
        f"cache:3: model_io_cache_conflict: line 1 records another reply to {request('a').request_hash} than this "
        "line\n  fix: keep the one that your publication was made with; a recorded reply is never replaced"
    ]


@pytest.mark.parametrize("field", ["model_canonical", "input_hash"])
def test_record_of_another_model_or_input_under_a_key_is_refused(path: Path, field: str) -> None:
    written(path, record("a", 1, **{field: "x"}))
    with pytest.raises(ModelError) as caught:
        RoleCache(path).reply(request("a"))
    assert str(caught.value) == (
        f"{path}:1: model_io_cache_invalid: `{field}` is not that of the request it is recorded for{REMEDY}"
    )


def broken(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "changed":
        path.write_bytes(data.replace(b'"response":1', b'"response":3'))
    elif how == "cut short":
        path.write_bytes(data[:-5])
    elif how == "replaced":
        other = path.with_name("other")
        other.write_bytes(data)
        other.replace(path)
    else:
        path.unlink()


@pytest.mark.parametrize(
    ("how", "reading", "appending"),
    [
        ("changed", ":1: model_io_cache_invalid: changed while it was in use", None),
        ("cut short", None, ": model_io_cache_invalid: was replaced or cut short while it was in use"),
        ("replaced", None, ": model_io_cache_invalid: was replaced or cut short while it was in use"),
        ("vanished", ": model_io_cache_invalid: vanished while it was in use", None),
    ],
)
def test_file_that_changes_under_a_reader_is_noticed(
    path: Path, how: str, reading: str | None, appending: str | None
) -> None:
    cache = filled(path, ("a", 1), ("b", 2))
    broken(path, how)
    if reading is not None:
        with pytest.raises(ModelError) as caught:
            cache.reply(request("a"))
        assert str(caught.value) == f"{path}{reading}{REMEDY}"
    if appending is not None:
        with pytest.raises(ModelError) as caught:
            cache.put([(request("c"), 3)])
        assert str(caught.value) == f"{path}{appending}{REMEDY}"


def test_what_is_no_file_is_refused(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    assert refusal(path) == [f"cache: model_io_cache_invalid: is no regular file{REMEDY}"]
    path.unlink()
    path.symlink_to("elsewhere")
    assert refusal(path) == [f"cache: model_io_cache_invalid: is a symbolic link{REMEDY}"]
    path.unlink()
    path.mkdir()
    assert refusal(path) == [f"cache: model_io_cache_invalid: is no regular file{REMEDY}"]


def test_no_byte_of_a_response_can_flip_unnoticed(path: Path) -> None:
    line = record("a", {"x": [1, "abc"]})
    start, end = line.index(b'"response":'), line.index(b',"schema_version"')
    for at in range(start, end):
        written(path, line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :])
        assert refusal(path), line[at:]
