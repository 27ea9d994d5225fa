"""Episodes as they are recorded, and every way in which a record is refused."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.digest import sha256_json, sha256_of
from bfcl.errors import EvalError
from bfcl.evaluate.drive.evidence_json import UnreadableEvidenceError, evidence_json, read_evidence
from bfcl.evaluate.drive.tool_trace_cache import FILE, EpisodeRequest, RecordedEpisode, ToolTraceCache, digest_of
from bfcl.evaluate.records import EpisodeEvidence
from tests.evaluate.drive.benchmark import Benchmark, play_live
from tests.evaluate.driven import calls, wire_call

FIX = "\n  fix: restore the file from a copy; a record is never mended, and a new output directory starts a new file"


def request(task_id: str = "t", **edits: Any) -> EpisodeRequest:
    digest = sha256_of(b"x")
    fields: dict[str, Any] = {
        "candidate_alias": "small",
        "canonical_model_identity": "hub:small@1",
        "task_id": task_id,
        "trial": 0,
        "plan_identity": digest,
        "eval_config_hash": digest,
        "scoring_policy_hash": digest,
        "source_verification_identity": digest,
        "oracle_fingerprint": digest,
        "script_hash": digest,
        "task_spec_hash": digest,
    }
    return EpisodeRequest(**{**fields, **edits})


@pytest.fixture(scope="module")
def evidence(studio: Benchmark) -> EpisodeEvidence:
    """An episode that has something in every field."""
    return play_live(studio, studio.row("last_firing"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


def recorded(path: Path, *episodes: tuple[EpisodeRequest, EpisodeEvidence | None]) -> ToolTraceCache:
    async def record() -> ToolTraceCache:
        cache = ToolTraceCache(path)
        for one, _ in episodes:
            await cache.begin(one)
        for one, evidence in reversed(episodes):
            if evidence is not None:
                await cache.complete(one, evidence)
        return cache

    return asyncio.run(record())


def refused(opening: Callable[[], Any]) -> list[str]:
    with pytest.raises(EvalError) as refusal:
        opening()
    return [str(problem) for problem in refusal.value.problems]


def forge(path: Path, edit: Callable[[dict[str, Any]], None], line: int = 1) -> None:
    """Edit a record and let its own digest vouch for it."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    record = json.loads(lines[line])
    edit(record)
    del record["record_hash"]
    record["record_hash"] = sha256_json(record)
    lines[line] = json.dumps(record) + "\n"
    path.write_text("".join(lines), encoding="utf-8")


# --- evidence -----------------------------------------------------------------------------------------------------


def test_evidence_reads_back_as_it_was(studio: Benchmark, evidence: EpisodeEvidence) -> None:
    mismatched = play_live(
        studio, studio.row("kiln_and_firing"), {0: calls(wire_call("melt", "no json"), wire_call("get_kiln", {}))}
    )
    for one in (
        evidence,
        mismatched,
        dataclasses.replace(evidence, assertions=None, unresolved=evidence.turns[1].resolutions),
    ):
        again = read_evidence(json.loads(json.dumps(evidence_json(one))))
        assert again == one
        assert evidence_json(again) == evidence_json(one)


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (("status",), "fine", "EpisodeEvidence.status is of another type or none of its words"),
        (("trial",), True, "EpisodeEvidence.trial is of another type or none of its words"),
        (("turns", 0, "advanced"), None, "TurnEvidence.advanced is of another type or none of its words"),
        (("turns", 0, "response"), [], "ChatResponse is no object"),
        (("turns",), {}, "holds something else where a list belongs"),
        (("declared_assertions", 0), 1, "holds something else where a text belongs"),
        (("turns", 1, "resolutions", 0, "path", 0), None, "holds something else where a step of a path belongs"),
        (("turns", 0, "executions", 0, "more"), 1, None),
        (("turns", 0, "response", "tool_calls", 0, "arguments_status"), "x", None),
    ],
)
def test_evidence_of_another_shape_is_unreadable(
    evidence: EpisodeEvidence, place: tuple[Any, ...], value: Any, why: str | None
) -> None:
    written: Any = json.loads(json.dumps(evidence_json(evidence)))
    holder = written
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(UnreadableEvidenceError) as refusal:
        read_evidence(written)
    assert why is None or str(refusal.value) == why


# --- the file -----------------------------------------------------------------------------------------------------


def test_cache_gives_back_what_it_recorded_in_the_order_of_beginning(path: Path, evidence: EpisodeEvidence) -> None:
    other = dataclasses.replace(evidence, status="candidate_mismatch")
    written = recorded(path, (request("a"), evidence), (request("b"), other))
    for cache in (written, ToolTraceCache(path)):
        assert (cache.find(request("a")), cache.find(request("b")), cache.find(request("c"))) == (evidence, other, None)
        assert [*cache.episodes()] == [RecordedEpisode(request("a"), evidence), RecordedEpisode(request("b"), other)]
        assert len(cache) == 2
    kinds = [json.loads(line)["record_type"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert kinds == ["request", "request", "completion", "completion"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(EpisodeRequest)])
def test_key_hangs_on_every_field_of_the_request(field: str) -> None:
    other: Any = 1 if field == "trial" else "other"
    assert request(**{field: other}).key != request().key


def test_cache_refuses_a_request_that_nothing_completes(path: Path, evidence: EpisodeEvidence) -> None:
    recorded(path, (request("a"), evidence), (request("b"), None))
    assert refused(lambda: ToolTraceCache(path)) == [
        f"{path}:2: eval_tool_trace_cache_invalid: was never completed: a crash cut that episode off{FIX}"
    ]
    imported = ToolTraceCache(path, imported=True)
    assert (imported.find(request("a")), imported.find(request("b")), len(imported)) == (evidence, None, 1)


def test_cache_refuses_a_completion_that_no_request_began(path: Path, evidence: EpisodeEvidence) -> None:
    recorded(path, (request(), evidence))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    wanted = [f"{path}:1: eval_tool_trace_cache_invalid: completes an episode that no request began{FIX}"]
    assert refused(lambda: ToolTraceCache(path)) == wanted
    assert refused(lambda: ToolTraceCache(path, imported=True)) == wanted


def test_cache_takes_over_what_the_candidate_did_itself(path: Path, evidence: EpisodeEvidence) -> None:
    statuses: tuple[Any, ...] = ("completed", "candidate_mismatch", "oracle_timeout", "candidate_call_failed")
    played = [(request(status), dataclasses.replace(evidence, status=status)) for status in statuses]
    recorded(path, *played)
    imported = ToolTraceCache(path, imported=True)
    assert [status for status in statuses if imported.find(request(status)) is not None] == [*statuses[:2]]
    whole = ToolTraceCache(path)
    assert [status for status in statuses if whole.find(request(status)) is not None] == [*statuses]


def test_cache_records_an_episode_that_was_taken_over(path: Path, evidence: EpisodeEvidence) -> None:
    cache = ToolTraceCache(path)
    asyncio.run(cache.put(request(), evidence))
    assert ToolTraceCache(path).find(request()) == evidence


def test_digests_are_those_of_the_episodes_recorded_whole(path: Path, evidence: EpisodeEvidence) -> None:
    other = dataclasses.replace(evidence, status="candidate_mismatch")
    cache = recorded(path, (request("a"), evidence), (request("b"), other), (request("c"), None))
    assert [*cache.digests()] == [digest_of(request("b"), other), digest_of(request("a"), evidence)]
    assert len({digest_of(request(key), one) for key in "ab" for one in (evidence, other)}) == 4
    forge(path, lambda one: one["payload"].update(trial=1), 2)
    with pytest.raises(EvalError, match="changed while it was in use"):
        [*cache.digests()]


def test_cache_refuses_another_completion_of_one_episode(path: Path, evidence: EpisodeEvidence) -> None:
    cache = recorded(path, (request(), evidence))
    other = dataclasses.replace(evidence, status="candidate_mismatch")
    assert refused(lambda: asyncio.run(cache.complete(request(), other))) == [
        f"{path}:2: eval_tool_trace_cache_conflict: line 2 records another: `completion` of {request().key}; expected "
        "one for good\n  fix: keep the one that the result was made with; to ask again, take a new output directory"
    ]


@pytest.mark.parametrize(
    ("line", "edit", "why"),
    [
        (0, lambda one: one["payload"].update(trial=1), "`key` is not that of the request"),
        (0, lambda one: one["payload"].update(trial="0"), "the request has fields of other types than one"),
        (0, lambda one: one["payload"].pop("trial"), "the request has other fields than one"),
        (
            1,
            lambda one: one["payload"].update(status="fine"),
            "the episode cannot be read: EpisodeEvidence.status is of another type or none of its words",
        ),
    ],
)
def test_cache_refuses_a_record_that_is_none(
    path: Path, evidence: EpisodeEvidence, line: int, edit: Callable[[dict[str, Any]], None], why: str
) -> None:
    recorded(path, (request(), evidence))
    forge(path, edit, line)
    assert refused(lambda: ToolTraceCache(path))[0] == (f"{path}:{line + 1}: eval_tool_trace_cache_invalid: {why}{FIX}")
