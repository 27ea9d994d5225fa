"""How is one task played, whoever wants it played? The one way of every mode. Rule: evaluation.md §5-§7."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bfcl.evaluate.drive.answers import Desk, SessionAnswers
from bfcl.evaluate.drive.asking import Asking, Seat
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.results import RecordedResults, Results
from bfcl.evaluate.drive.task_spec import TaskSpec, TaskSpecs
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.exports.row import ExportRow
from bfcl.modelio.exchange import ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """Tasks of one evaluation that can be played. Tells nothing of itself, as some of them are private."""

    settings: EvalSettings = field(repr=False)
    scripts: Mapping[str, Script] = field(repr=False)
    """By task id, in the order of the rows."""
    rows: Mapping[str, ExportRow] = field(repr=False)
    specs: TaskSpecs | None = field(repr=False)
    """None where nothing runs: then results are those of the rows."""

    def spec(self, task_id: str) -> TaskSpec:
        """What an executed episode of a task rests on."""
        assert self.specs is not None
        return self.specs.of(self.rows[task_id])

    def results(self, task_id: str, desk: Desk | None) -> Results:
        """Where the results of an episode come from: recorded ones where nothing runs, else those of the desk."""
        if self.specs is None:
            return RecordedResults()
        assert desk is not None
        spec = self.spec(task_id)
        return LiveResults(SessionAnswers(desk, spec), spec, self.settings.scoring)

    def first_request(self, task_id: str, seat: Seat) -> ChatRequest:
        """What a conversation begins with, whatever comes of it. Raises: EvalError as `Asking.request`."""
        script = self.scripts[task_id]
        return self._asking(seat).request(script, script.seed_messages, 0)

    async def play(self, task_id: str, seat: Seat, results: Results) -> EpisodeEvidence:
        """Play one task. Raises: EvalError where the whole run has to stop, as `drive`."""
        asking, scoring, limits = self._asking(seat), self.settings.scoring, self.settings.limits
        return await drive(self.scripts[task_id], asking, results, scoring, limits)

    def _asking(self, seat: Seat) -> Asking:
        return Asking(
            candidate=seat.candidate,
            client=seat.client,
            mode="trace" if self.specs is None else "executable",
            trial=seat.trial,
            seed_policy=self.settings.repeats.seed_policy,
            clock=seat.clock,
        )
