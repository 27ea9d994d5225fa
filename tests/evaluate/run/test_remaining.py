"""A dry run that goes on from another run tells what is still to be paid for, and the run then pays just that."""

from __future__ import annotations

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.run.estimate import Estimate
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import Completed, Preflight
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.arena import KEY, Arena, Candidate, Edit, asks, executable, put, repeats, served

HOW = How(eval_run_id="R", environment={KEY: "k"})
ONE_AT_A_TIME = put("limits", "max_parallel_tasks", value=1)


class Runs:
    def __init__(self, arena: Arena, candidate: Candidate, *edits: Edit) -> None:
        self.arena, self.candidate, self.edits = arena, candidate, (ONE_AT_A_TIME, *edits)

    def _envelope(self, name: str, **choices: object) -> Envelope:
        path = self.arena.configure(name, self.candidate.base_url, *self.edits)
        return Envelope(**{"path": path, "eval_config_path": path, **choices})  # type: ignore[arg-type]

    def cut(self, after: int) -> None:
        """Leave a run that may make only so many requests."""
        envelope = self._envelope("cut", max_requests=after)
        with pytest.raises(EvalError, match="eval_budget_exhausted"):
            evaluate(envelope, load_settings(envelope.path), HOW)

    def whole(self) -> None:
        envelope = self._envelope("cut")
        evaluate(envelope, load_settings(envelope.path), HOW)

    def told(self, *, earlier: bool = True) -> Estimate:
        resume_from = self.arena.out("cut") if earlier else None
        envelope = self._envelope("rest", dry_run=True, resume_from=resume_from)
        outcome = evaluate(envelope, load_settings(envelope.path), HOW)
        assert isinstance(outcome, Preflight)
        return outcome.estimate

    def rest(self) -> int:
        """How many requests the rest really takes."""
        envelope = self._envelope("rest", resume_from=self.arena.out("cut"))
        outcome = evaluate(envelope, load_settings(envelope.path), HOW)
        assert isinstance(outcome, Completed)
        return outcome.calls.asked


@pytest.mark.parametrize("edits", [(), (executable,)], ids=["trace", "executable"])
def test_rest_of_a_run_that_was_cut_short_is_told_to_the_turn(arena: Arena, edits: tuple[Edit, ...]) -> None:
    with served(arena.rows()) as candidate:
        runs = Runs(arena, candidate, *edits)
        whole = runs.told(earlier=False)
        assert whole.remaining is None
        runs.cut(after=3)
        told = runs.told()
        left = told.remaining
        assert left is not None
        assert (told.turns, told.prompt_tokens) == (whole.turns, whole.prompt_tokens)
        assert (left.turns, left.request_ceiling) == (5, 5)
        assert 0 < left.prompt_tokens < whole.prompt_tokens
        assert runs.rest() == left.turns


def test_conversation_that_ended_early_has_nothing_left(arena: Arena) -> None:
    with served(arena.rows()) as candidate:
        runs = Runs(arena, candidate, asks("scripted-silent"))
        runs.whole()
        assert runs.told().remaining == Estimate(turns=0, prompt_tokens=0, request_ceiling=0)
        assert runs.rest() == 0


def test_every_trial_has_its_own_answers_and_may_be_driven_once_more_where_it_is_not_over(arena: Arena) -> None:
    with served(arena.rows()) as candidate:
        runs = Runs(arena, candidate, repeats(2))
        runs.cut(after=8)
        told = runs.told()
        left = told.remaining
        assert left is not None
        # The first trial is whole; the second may be driven twice.
        assert (told.turns, left.turns, left.request_ceiling) == (16, 8, 16)
        assert runs.rest() == 8


def test_candidate_on_its_own_way_may_take_all_turns_unless_it_is_done(arena: Arena) -> None:
    live = put("scoring", "executable_continuation", value="live")
    with served(arena.rows()) as candidate:
        runs = Runs(arena, candidate, executable, live)
        whole = runs.told(earlier=False)
        assert whole.turns < whole.request_ceiling
        runs.whole()
        assert runs.told().remaining == Estimate(turns=0, prompt_tokens=0, request_ceiling=0)
