"""Which probes share an episode, how an answer is classed, and that nobody plays them twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.probes import chained, classify, episode
from bfcl.checks.validate import validate_pack
from bfcl.oracle.protocol import Episode, Replayed
from bfcl.pack.model import Confirmation
from tests.checks.judged import judge
from tests.checks.plain_oracle import PlainOracle


def test_a_chain_of_cases_is_played_as_one_episode(tmp_path: Path) -> None:
    cases = judge(tmp_path).pack.cases
    chains = chained(cases)
    assert chains == [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (8, 9)]
    played = episode(cases, chains[-1])
    assert (played.task_id, played.seed, played.observe) == ("probe__start_done", 0, "each")
    assert [(call.tool, call.turn_index, call.task_id) for call in played.calls] == [
        ("start_firing", 0, "probe__start_done"),
        ("get_kiln", 0, "probe__kiln_after_start"),
    ]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"error": {"code": "x"}, "status": "awaiting_confirmation"}, "structured_error"),
        ({"error": {}}, "structured_error"),
        ({"error": "x"}, "success"),
        ({"status": "awaiting_confirmation"}, "awaiting_confirmation"),
        ({"status": "started"}, "success"),
        ({}, "success"),
    ],
)
def test_classify_takes_the_first_class_that_fits(result: dict[str, object], expected: str) -> None:
    assert classify(result, Confirmation()) == expected


def test_classify_speaks_the_packs_own_confirmation_words() -> None:
    words = Confirmation(parameter="ok", status_field="phase", pending_status="asked")
    assert classify({"phase": "asked"}, words) == "awaiting_confirmation"
    assert classify({"status": "awaiting_confirmation"}, words) == "success"


class _Counting(PlainOracle):
    """Notes the episodes it is asked to replay."""

    def replay(self, episodes: list[Episode]) -> list[Replayed]:  # type: ignore[override]
        self.asked = [*getattr(self, "asked", []), *episodes]
        return super().replay(episodes)


def test_the_probes_are_played_once_for_all_checks_that_judge_them(tmp_path: Path) -> None:
    judged = judge(tmp_path, templates=())
    oracle = _Counting(judged.pack, judged.config.oracle_runtime.clock)
    validate_pack(judged.pack, judged.config, oracle)
    assert [one.task_id for one in oracle.asked] == [f"probe__{case.id}" for case in judged.pack.cases[:-1]]
    assert all(one.also == (one.calls,) for one in oracle.asked)
