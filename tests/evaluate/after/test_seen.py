"""What is kept of episodes: failures and passing states of the first trial, outcomes of every trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import Digest
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.after.rebuild import rebuild
from bfcl.evaluate.after.seen import EveryTrial, FirstTrial, SeenEpisode, failures_of, messages_sent
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.score.episode import score_episode
from bfcl.modelio.candidate_cache import CandidateCache
from tests.evaluate.after.finishing import Evaluated
from tests.evaluate.driven import SCORING, Answer, answering, one_group, play
from tests.evaluate.score.episodes import ANSWERS


def episode(answer: Answer | None, task_id: str = "t1", *, alias: str = "small", trial: int = 0) -> SeenEpisode:
    own = replace(one_group(), task_id=task_id)
    evidence = play(own, answering(own, {} if answer is None else {0: answer}), trial=trial)
    evidence = replace(evidence, candidate_alias=alias, final_state=f'"{alias}"')
    return SeenEpisode(own, evidence, score_episode(own, evidence, SCORING))


def scored(success: bool | None, trial: int, task_id: str = "t1") -> TaskScore:
    """None where the run stopped it."""
    answer = None if success else ANSWERS["unreachable"] if success is None else ANSWERS["words"]
    return episode(answer, task_id, trial=trial).score


GOOD, BAD, STOPPED = scored(True, 0), scored(False, 0), scored(None, 0)


def test_first_trial_keeps_failures_in_the_order_asked_for_and_the_first_state_that_passes() -> None:
    first = FirstTrial()
    failed = [episode(ANSWERS["words"], task_id) for task_id in ("t2", "t1")]
    for one in (
        *failed,
        episode(ANSWERS["words"], "t3", alias="other"),
        episode(None, "t3"),
        episode(None, "t3", alias="third"),
    ):
        first.see(one)
    assert first.failed("small", ["t1", "t2", "t3"]) == [failed[1], failed[0]]
    assert [one.script.task_id for one in first.failed("other", ["t3", "t1"])] == ["t3"]
    assert first.passed == {"t3": ("small", '"small"')}


def test_first_trial_keeps_no_state_of_a_task_that_nobody_wants_one_of() -> None:
    first = FirstTrial({"t2"})
    for task_id in ("t1", "t2"):
        first.see(episode(None, task_id))
    assert first.passed == {"t2": ("small", '"small"')}


def test_first_trial_ignores_later_ones() -> None:
    first = FirstTrial()
    first.see(episode(ANSWERS["words"], trial=1))
    first.see(episode(None, "t2", trial=1))
    assert first.failed("small", ["t1"]) == []
    assert first.passed == {}


@given(outcomes=st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_trials_that_the_run_stopped_do_not_count(outcomes: list[bool | None]) -> None:
    of = {True: GOOD, False: BAD, None: STOPPED}
    every = EveryTrial(len(outcomes))
    for trial, outcome in enumerate(outcomes):
        every.see(replace(of[outcome], trial=trial))
    counted = [outcome for outcome in outcomes if outcome is not None]
    wanted = {"t1": Tries(successes=sum(counted), trials=len(counted))} if counted else {}
    assert every.tries("small", ["absent", "t1"]) == wanted
    assert every.tries("other", ["t1"]) == {}


def test_trial_that_was_driven_once_more_takes_the_place_of_the_one_before() -> None:
    every = EveryTrial(2)
    for trial, score in ((0, STOPPED), (1, BAD), (2, GOOD)):
        every.see(replace(score, trial=trial))
    assert every.tries("small", ["t1"]) == {"t1": Tries(successes=1, trials=2)}


def test_failures_tell_what_was_sent_as_it_is_on_record(evaluated: Evaluated) -> None:
    first = FirstTrial()
    task_ids: list[str] = []

    def seen(script: Script, evidence: EpisodeEvidence) -> None:
        task_ids.append(script.task_id)
        first.see(SeenEpisode(script, evidence, score_episode(script, evidence, SCORING)))

    rebuilt = rebuild(evaluated.trace, seen=seen)
    kept = first.failed("mute", task_ids)
    (told, *_) = failures = list(failures_of(kept, SCORING, first.passed, rebuilt.calls))
    assert [one.episode.evidence.task_id for one in failures] == [one.script.task_id for one in kept]
    turn = told.episode.evidence.turns[0]
    sent = told.episode.prompt_of(turn.request_hash)
    assert sent is not None
    assert [message["role"] for message in sent] == [one["role"] for one in told.episode.script.seed_messages]


def test_request_that_is_not_on_record_has_no_messages(tmp_path: Path) -> None:
    assert messages_sent(Digest("sha256:0"), CandidateCache(tmp_path / "none.jsonl")) is None


def test_passing_episode_is_no_failure(tmp_path: Path) -> None:
    calls = CandidateCache(tmp_path / "none.jsonl")
    assert list(failures_of([episode(None)], SCORING, {}, calls)) == []


@pytest.mark.parametrize("trial", [0, 1])
def test_score_of_a_trial_knows_its_number(trial: int) -> None:
    assert scored(True, trial).trial == trial
