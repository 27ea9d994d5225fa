"""In which state do the expected calls of a task leave the oracle? For people who look at a failure, never for a score.

Rule: evaluation.md §16.3. The only place after a run where code of the pack runs: the verified pack, in its worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from bfcl.errors import BfclError, Problem
from bfcl.evaluate.artifacts.result import Result
from bfcl.evaluate.records import Script
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Episode, PlannedCall

REFERENCE: Final = "the expected calls"
_JOBS: Final = 2


class ExpectedStates(NamedTuple):
    """What the expected calls left."""

    by_task: dict[str, str]
    """Final state by task id, canonical JSON; a task whose calls break has none, nor has any of a trace."""
    refused: Problem | None = None
    """Why the pack could not be run, so that there is none at all."""


def expected_states(result: Result, scripts: Sequence[Script]) -> ExpectedStates:
    """Run the expected calls of these tasks, if the evaluation was executable."""
    oracle = result.verified.oracle
    if oracle is None or not result.settings.executable or not scripts:
        return ExpectedStates({})
    episodes = [
        Episode(
            task_id=script.task_id,
            seed=result.rows[script.task_id].published["seed"],
            calls=tuple(
                PlannedCall(tool=call.tool, arguments=call.arguments, turn_index=turn.index)
                for turn in script.turns
                for call in turn.calls
            ),
        )
        for script in scripts
    ]
    try:
        with private_oracle(oracle.pack, oracle.config, jobs=_JOBS) as worker:
            ran = list(worker.run(episodes))
    except BfclError as error:
        # Results are looked at on machines that cannot run the pack, too: then there is no state to hold others to.
        return ExpectedStates({}, error.problems[0])
    return ExpectedStates(
        {
            episode.task_id: one.states[-1]
            for episode, one in zip(episodes, ran, strict=True)
            if one.breakdown is None and one.states
        }
    )
