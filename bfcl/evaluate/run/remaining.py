"""What does a run still have to ask that goes on from another one's record? Rule: evaluation.md §11, §17.6.

Each conversation is played on what is on record, with the results that its script has, up to the first request that is
not. An oracle answers as it did when the benchmark was made, so that this holds for executable runs as well.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.records import Script, attribution
from bfcl.evaluate.run.asked import Finding, NotRecorded
from bfcl.evaluate.run.episodes import recorded_tasks
from bfcl.evaluate.run.estimate import Cost, Estimate, cost_of, drives_of, finds_own_way, private_costs, total
from bfcl.evaluate.run.preflight import Prepared
from bfcl.modelio.exchange import ChatOutcome, ChatRequest


async def remaining(prepared: Prepared, calls: Finding, hidden: Sequence[Script] = ()) -> Estimate:
    """What is left of `estimate`. Private tasks, whose scripts are `hidden`, are on nobody's record.

    Raises: EvalError of a damaged record.
    """
    settings = prepared.settings
    costs = [one async for one in _costs(prepared, calls)]
    return total(settings, [*costs, *private_costs(settings, hidden)])


async def _costs(prepared: Prepared, calls: Finding) -> AsyncIterator[Cost]:
    settings, tasks = prepared.settings, recorded_tasks(prepared)
    for candidate in settings.candidates:
        for trial in range(settings.repeats.trials):
            for task_id in prepared.plan.task_ids(candidate.alias):
                script, recorded = prepared.scripts[task_id], _Recorded(calls)
                seat = Seat(candidate=candidate, client=recorded, trial=trial, clock=_no_time)
                over = await _is_over(tasks, task_id, seat)
                cost = Cost(0, 0, 0) if over else cost_of(settings, script, recorded.answered)
                # What is over may be driven once more all the same, where an oracle fails this time.
                once_more = not over or settings.executable
                again = (drives_of(settings) - 1) * cost_of(settings, script).requests if once_more else 0
                yield Cost(cost.turns, cost.prompt_bytes, cost.requests + again)


async def _is_over(tasks: Tasks, task_id: str, seat: Seat) -> bool:
    """Whether a conversation comes to its end by what is on record."""
    try:
        evidence = await tasks.play(task_id, seat, tasks.results(task_id, None))
    except NotRecorded:
        return False
    if finds_own_way(tasks.settings):
        # A departure from the script ends this conversation, and not the one that is going to be had.
        return evidence.status == "completed"
    return attribution(evidence.status) != "infrastructure"


@dataclass
class _Recorded:
    """Answers from a record alone."""

    calls: Finding
    answered: int = 0

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:  # noqa: ARG002 the protocol has it
        """Raises: NotRecorded."""
        found = self.calls.find(request)
        if found is None:
            raise NotRecorded(request.request_id)
        self.answered += 1
        return found


def _no_time() -> float:
    return 0.0
