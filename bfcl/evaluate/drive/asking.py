"""Who is asked, and with what request? Rule: evaluation.md §5, §16.1, §17.7."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bfcl.canonical import Json
from bfcl.evaluate.records import Script
from bfcl.evaluate.settings.model import Candidate
from bfcl.modelio.chat_live import Completing
from bfcl.modelio.chat_request import body_of, request_of
from bfcl.modelio.exchange import ChatOutcome, ChatRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A candidate in one trial, and the client of one episode of it."""

    candidate: Candidate
    client: Completing
    trial: int = 0
    clock: Callable[[], float] = time.monotonic
    """Tells seconds, as the deadlines of the client do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking(Seat):
    """How the one in a seat is asked. `mode` is how its tasks are driven."""

    mode: Literal["trace", "executable"]
    seed_policy: Literal["fixed", "increment"] = "fixed"

    def request(self, script: Script, messages: Sequence[Mapping[str, Json]], turn: int) -> ChatRequest:
        """The request of an episode's next turn; `turn` counts those asked, from 0. Raises: EvalError of `body_of`."""
        offset = self.trial if self.seed_policy == "increment" else 0
        body = body_of(self.candidate, messages, script.tools, seed_offset=offset)
        return request_of(self.candidate, body, task_id=script.task_id, turn_index=turn, trial=self.trial)

    def echoed(self, outcome: ChatOutcome) -> Json:
        """What a usable reply holds under the field that goes back to the candidate, or None."""
        field, response = self.candidate.inference.echo_reasoning, outcome.response
        raw = None if field is None or response is None else outcome.attempts[response.selected_attempt].raw_response
        if field is None or raw is None:
            return None
        value: Json = json.loads(raw)["choices"][0]["message"].get(field)
        return value
