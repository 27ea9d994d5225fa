"""Very many tasks at once, a server that is slow or never ends: as many in flight as allowed, and every deadline kept.

Rule: evaluation.md §5.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue
from socket import create_server
from typing import Final

from bfcl.canonical import Json, canonical_json
from bfcl.evaluate.records import Script
from bfcl.evaluate.scripted.http11 import read_request, response_head
from bfcl.evaluate.scripted.server import Conduct
from tests.evaluate.scripted.served import served
from tests.system.evaluation import EXECUTABLE, TRACE, Bench, Edits, Evaluation

MANY: Final = 200
FEW: Final = 20
FEWER: Final = 12
EXTRA_MEMORY_KIB: Final = 32 * 1024
"""What 180 more conversations in flight may take: connections, messages and replies, and no more of the benchmark."""
SETTLED_S: Final = 0.25
"""How long the gate stays shut once all are there whom it waits for: whoever comes then is one too many."""


DRIP_S: Final = 0.4
"""Between two bytes; less than a call's deadline."""


class Gate:
    """A candidate that answers nobody until so many ask at once, and then everybody."""

    def __init__(self, bench: Bench, least: int) -> None:
        self._bench = bench
        self._least = least
        self._open = asyncio.Event()
        self._in_flight = 0
        self.peak_in_flight = 0
        self.requests = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader, writer)) is not None:
                body = json.loads(request.body)
                await self._wait()
                reply = canonical_json(self._bench.candidate.reply(body["model"], body["messages"], body["tools"]))
                writer.write(response_head(200, len(reply), {}, keep_alive=True) + reply)
                self._in_flight -= 1
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    async def _wait(self) -> None:
        self.requests += 1
        self._in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self._in_flight)
        if self._in_flight == self._least and not self._open.is_set():
            asyncio.get_running_loop().call_later(SETTLED_S, self._open.set)
        await self._open.wait()


@contextmanager
def gated(bench: Bench, least: int) -> Iterator[tuple[Gate, str]]:
    """A gate that listens in another thread, and its base URL."""
    started: SimpleQueue[tuple[Gate, int]] = SimpleQueue()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def listen() -> None:
        gate = Gate(bench, least)
        server = await asyncio.start_server(gate.connected, "127.0.0.1", 0, backlog=4 * MANY)
        started.put((gate, server.sockets[0].getsockname()[1]))
        await ended.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def run() -> None:
        loop.run_until_complete(listen())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        gate, port = started.get()
        yield gate, f"http://127.0.0.1:{port}/v1"
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


def _crowd(bench: Bench, directory: Path, base_url: str, parallel: int) -> Evaluation:
    """Three times the tasks of the large pack, so many at once."""
    edits: Edits = {
        ("schema_version",): "1.3",
        ("repeats",): {"trials": 3, "seed_policy": "fixed"},
        ("limits", "max_parallel_tasks"): parallel,
    }
    return bench.evaluation(directory, base_url, ["scripted-gold"], TRACE, edits)


def test_as_many_tasks_are_in_flight_as_may_be_and_memory_stays_flat(banking: Bench, tmp_path: Path) -> None:
    peaks, held = {}, {}
    for parallel in (FEW, MANY):
        with gated(banking, parallel) as (gate, base_url):
            measured = _crowd(banking, tmp_path / str(parallel), base_url, parallel)
            ended, held[parallel] = measured.measured()
        assert ended.status == 0, ended.err
        peaks[parallel] = gate.peak_in_flight
        assert gate.requests == 3 * sum(len(script.turns) for script in banking.scripts.values())
        assert measured.report()["candidates"][0]["successful_tasks"] == len(banking.rows)
    assert peaks == {FEW: FEW, MANY: MANY}
    assert held[MANY] < held[FEW] + EXTRA_MEMORY_KIB


def test_executable_tasks_keep_to_the_same_limit(kilns: Bench, tmp_path: Path) -> None:
    edits: Edits = {("limits", "max_parallel_tasks"): FEWER}
    with gated(kilns, FEWER) as (gate, base_url):
        measured = kilns.evaluation(tmp_path, base_url, ["scripted-gold"], EXECUTABLE, edits)
        measured.succeed()
    assert gate.peak_in_flight == FEWER < len(kilns.rows)
    assert measured.report()["candidates"][0]["successful_tasks"] == len(kilns.rows)


def test_deadline_ends_a_reply_that_drips(tiny: Bench, tmp_path: Path) -> None:
    """A byte comes long before a socket would be given up, and the last one only after minutes."""
    edits: Edits = {("limits", "candidate_timeout_s"): 0.5, ("limits", "max_retries"): 3}
    with served(tiny.candidate, conduct=Conduct(drip_s=DRIP_S)) as serving:
        measured = tiny.evaluation(tmp_path, serving.base_url, ["scripted-slow-drip"], TRACE, edits)
        measured.measure_nothing()
    assert [row["episode_status"] for row in measured.results()] == ["candidate_call_failed"] * len(tiny.rows)
    assert {row["non_candidate_stop"] for row in measured.results()} == {True}
    attempts = [one for one in measured.records() if one["record_type"] == "attempt"]
    assert {one["payload"]["status"] for one in attempts} == {"timeout"}
    spent: Counter[str] = Counter()
    for one in attempts:
        spent[one["request_hash"]] += one["payload"]["latency_s"]
    assert len(spent) == len(tiny.rows)
    # Nothing is measured finely, as a machine may be very busy.
    whole_reply_s = DRIP_S * min(len(canonical_json(_first_reply(tiny, script))) for script in tiny.scripts.values())
    assert whole_reply_s > 60
    assert max(spent.values()) < whole_reply_s / 2


def _first_reply(bench: Bench, script: Script) -> dict[str, Json]:
    return bench.candidate.reply("scripted-slow-drip", script.seed_messages, script.tools)


def test_deadline_of_an_episode_cuts_that_of_its_calls(tiny: Bench, tmp_path: Path) -> None:
    edits: Edits = {
        ("limits", "candidate_timeout_s"): 0.6,
        ("limits", "tool_timeout_s"): 0.6,
        ("limits", "episode_timeout_s"): 0.6,
    }
    with served(tiny.candidate, conduct=Conduct(latency_s=0.4)) as serving:
        measured = tiny.evaluation(tmp_path, serving.base_url, ["scripted-gold"], TRACE, edits)
        measured.succeed()
    rows = measured.results()
    assert {row["episode_status"] for row in rows} <= {"candidate_call_failed", "episode_timeout", "completed"}
    late = [row for row in rows if len(tiny.scripts[row["task_id"]].turns) > 1]
    assert len(late) == 3
    assert {(row["episode_status"] == "completed", row["non_candidate_stop"]) for row in late} == {(False, True)}


def test_endpoint_that_cannot_be_reached_is_the_runs_failure_and_no_candidates(tiny: Bench, tmp_path: Path) -> None:
    with closing(create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    edits: Edits = {("limits", "max_retries"): 0}
    measured = tiny.evaluation(tmp_path, f"http://127.0.0.1:{port}/v1", ["scripted-gold"], EXECUTABLE, edits)
    measured.measure_nothing()
    (told,) = measured.report()["candidates"]
    size = len(tiny.rows)
    assert (told["task_count"], told["successful_tasks"], told["non_candidate_stops"]) == (size, 0, size)
    assert {row["episode_status"] for row in measured.results()} == {"candidate_call_failed"}
    blamed = {
        (record.subject, record.attribution)
        for records in measured.failures().values()
        for record in records
        if record.subject != "assertions"
    }
    assert {attribution for _, attribution in blamed} == {"infrastructure"}
    assert {subject for subject, _ in blamed} >= {"episode", "trace_completion", "text_turn", "tool_selection"}
