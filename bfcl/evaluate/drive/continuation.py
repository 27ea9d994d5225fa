"""After a reply, what does the conversation go on with? One policy object to an episode. Rule: evaluation.md §6, §17.1.

`GoldPath` goes on only where a turn was answered as expected. `LiveRoute`, for debugging, lets a candidate find its own
way: every live result goes back to it, and the user's next scripted message comes once a reply of its kind was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from bfcl.evaluate.compare.words import in_words
from bfcl.evaluate.records import EpisodeStatus, Script, ScriptTurn, TurnEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows a reply. A status ends the episode; else its calls get their results and the user may speak."""

    status: EpisodeStatus | None = None
    user: str | None = None


class Continuation(Protocol):
    """Walks a script from its start as replies come in."""

    @property
    def live(self) -> bool:
        """Whether results go back for calls that do not match, and unresolved gold arguments end nothing."""
        ...

    @property
    def turn(self) -> ScriptTurn:
        """The turn that the next reply is held against."""
        ...

    def follow(self, evidence: TurnEvidence) -> Step:
        """Take a usable reply, whose results broke nothing, to `turn`."""
        ...


class GoldPath:
    """Each scripted turn once, in order; the first departure ends the episode."""

    live = False

    def __init__(self, script: Script) -> None:
        self._script = script
        self._at = 0

    @property
    def turn(self) -> ScriptTurn:
        """The first turn that has not advanced."""
        return self._script.turns[self._at]

    def follow(self, evidence: TurnEvidence) -> Step:
        """On to the next turn where this one advanced."""
        turn = self.turn
        if not evidence.advanced:
            return Step(status="candidate_mismatch")
        if turn.terminal:
            return Step(status="completed")
        self._at += 1
        return Step(user=turn.user_after)


class LiveRoute:
    """Calls as many and whatever the candidate likes; words, or the kind of reply a user message waits for, go on.

    A call turn is passed when it is answered as expected, or when the candidate speaks instead: the route holds each
    reply against the first turn still open, which is all that the gates of such a run mean.
    """

    live = True

    def __init__(self, script: Script) -> None:
        self._script = script
        self._at = 0

    @property
    def turn(self) -> ScriptTurn:
        """The first turn still open."""
        return self._script.turns[self._at]

    def follow(self, evidence: TurnEvidence) -> Step:
        """Never ends for a call that does not match; ends with words once the user has nothing left to say."""
        response = evidence.response
        if response is None or response.incomplete:
            return Step(status="candidate_mismatch")
        if response.tool_calls:
            return self._called(evidence)
        return self._spoke() if in_words(response.assistant_content) else Step(status="candidate_mismatch")

    def _called(self, evidence: TurnEvidence) -> Step:
        turn = self.turn
        if turn.calls and not turn.terminal and (evidence.advanced or turn.user_after is not None):
            self._at += 1
            return Step(user=turn.user_after)
        return Step()

    def _spoke(self) -> Step:
        for turn in self._script.turns[self._at :]:
            if turn.terminal:
                break
            if not turn.calls or turn.user_after is not None:
                self._at = turn.index + 1
                return Step(user=turn.user_after)
        return Step(status="completed")


def continuation_of(policy: Literal["gold", "live"], script: Script) -> Continuation:
    """The policy that a scoring configuration names, at the start of a script."""
    return LiveRoute(script) if policy == "live" else GoldPath(script)
