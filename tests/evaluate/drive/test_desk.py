"""Many who ask one oracle, which a real worker answers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.drive.desk import OracleDesk, open_desk
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Episode, EpisodeResult, PlannedCall
from bfcl.oracle.worker import LocalOracle
from tests.evaluate.drive.benchmark import Benchmark, other_pack
from tests.packs import append, replace

CLOSED = (
    "eval_oracle_session_failed: the oracle was closed while an episode waited\n"
    "  fix: start the evaluation again; `resume_from` takes over what is concluded"
)


def episode(kiln_id: str = "K-1") -> Episode:
    call = PlannedCall(tool="get_kiln", arguments={"kiln_id": kiln_id})
    return Episode(task_id=kiln_id, seed=1, calls=(call,))


class Counting:
    """A running oracle that keeps how many episodes it was asked for at a time."""

    def __init__(self, oracle: LocalOracle) -> None:
        self._oracle = oracle
        self.batches: list[list[str]] = []

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        self.batches.append([one.task_id for one in episodes])
        return self._oracle.run(episodes)

    def stop(self) -> None:
        self._oracle.stop()


@pytest.fixture
def counting(studio: Benchmark) -> Iterator[Counting]:
    with private_oracle(studio.pack, studio.config, jobs=1) as oracle:
        yield Counting(oracle)


def told(refusal: EvalError) -> list[str]:
    return [str(problem) for problem in refusal.problems]


def test_desk_runs_together_what_waits_and_tells_each_its_own(counting: Counting) -> None:
    async def ask() -> list[EpisodeResult]:
        desk = OracleDesk(counting)
        first = asyncio.gather(*(desk.run(episode(f"K-{number}")) for number in (1, 2, 3)))
        await asyncio.sleep(0)
        late = asyncio.gather(*(desk.run(episode(f"K-{number}")) for number in (90, 91)))
        found = [*await first, *await late]
        desk.close()
        return found

    found = asyncio.run(ask())
    assert counting.batches == [["K-1", "K-2", "K-3"], ["K-90", "K-91"]]
    assert [("kiln" in one.results[0], "not_found" in one.results[0]) for one in found] == [(True, False)] * 3 + [
        (True, True)
    ] * 2


def test_desk_passes_over_who_was_cancelled_and_serves_the_others(counting: Counting) -> None:
    async def ask() -> EpisodeResult:
        desk = OracleDesk(counting)
        waits = [asyncio.create_task(desk.run(episode(name))) for name in ("K-1", "K-2", "K-3")]
        await asyncio.sleep(0)
        waits[1].cancel()
        kept = await asyncio.gather(*waits, return_exceptions=True)
        assert isinstance(kept[1], asyncio.CancelledError)
        running = asyncio.create_task(desk.run(episode("K-90")))
        while len(counting.batches) < 2:
            await asyncio.sleep(0)
        running.cancel()
        after = await desk.run(episode("K-1"))
        desk.close()
        return after

    assert "K-1" in asyncio.run(ask()).results[0]
    assert [name for batch in counting.batches for name in batch].count("K-1") == 2


def test_desk_that_closes_stops_what_runs_and_refuses_what_waits(studio: Benchmark, tmp_path: Path) -> None:
    pack = other_pack(tmp_path, replace("backend.py", "def get_state():\n", "def get_state():\n    while True: pass\n"))

    async def ask() -> list[EpisodeResult | BaseException]:
        async with open_desk(pack, studio.limited(tool_s=60)) as desk:
            running = asyncio.create_task(desk.run(episode()))
            await asyncio.sleep(0)
            waiting = asyncio.create_task(desk.run(episode()))
            await asyncio.sleep(0)
        ended = await asyncio.gather(running, waiting, desk.run(episode()), return_exceptions=True)
        desk.close()
        return list(ended)

    for refusal in asyncio.run(ask()):
        assert isinstance(refusal, EvalError)
        assert told(refusal) == [CLOSED]
    gc.collect()


def test_desk_tells_everybody_why_no_episode_can_run(studio: Benchmark, tmp_path: Path) -> None:
    pack = other_pack(tmp_path, append("backend.py", "\nraise RuntimeError('unlit')\n"))

    async def ask() -> list[EpisodeResult | BaseException]:
        async with open_desk(pack, studio.config) as desk:
            return list(await asyncio.gather(desk.run(episode()), desk.run(episode()), return_exceptions=True))

    for refusal in asyncio.run(ask()):
        assert isinstance(refusal, EvalError)
        (line,) = told(refusal)
        assert line.startswith("backend.py:")
        assert line.endswith(
            ": eval_oracle_session_failed: backend_import_failed: RuntimeError: unlit\n"
            "  fix: mend the pack, generate the benchmark again, and evaluate that one"
        )


def test_desk_of_a_pack_that_changed_is_not_opened(studio: Benchmark, tmp_path: Path) -> None:
    pack = other_pack(tmp_path)
    (pack.root / "backend.py").write_text("", encoding="utf-8")

    async def ask() -> None:
        async with open_desk(pack, studio.config):
            pass

    with pytest.raises(EvalError) as refusal:
        asyncio.run(ask())
    assert [problem.code for problem in refusal.value.problems] == ["eval_oracle_session_failed"]
    assert refusal.value.problems[0].message.startswith("pack_drift: ")
