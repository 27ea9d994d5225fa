"""At which turn did a failed task go wrong first, in plain words? Diagnostics only. Rule: evaluation.md §16.3.

Gates come in an order of their own, and the first of them count every expected call: where an early turn ended the
conversation, they name a turn that nobody was ever asked. Whoever reads a failure is to begin at the turn before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.compare.words import in_words
from bfcl.evaluate.drive.live import NOT_EARNED
from bfcl.evaluate.records import EpisodeEvidence, EpisodeStatus, Gate, Script, TurnEvidence
from bfcl.evaluate.score.course import fits, is_live
from bfcl.evaluate.settings.model import Scoring

_REPLIES: Final[Mapping[EpisodeStatus, str]] = {
    "unusable_tool_call_ids": "the ids of its calls are missing or the same, so that no result can be given back",
}
"""Ends that a reply brings about, whatever else is wrong with it."""
_UNCONFIRMED: Final = "a call says that the user has confirmed, who has not"
_ENDS: Final[Mapping[EpisodeStatus, str]] = {
    "completed": "the conversation went as expected, and what came of it did not",
    "max_turns_exceeded": "the turns that `limits.max_turns` allows were used up",
    "episode_timeout": "the time of the episode was up",
    "oracle_reset_failed": "the oracle could not be made ready",
    "oracle_call_failed": "the oracle failed at a call",
    "oracle_timeout": "the oracle took too long for a call",
    "oracle_result_malformed": "the oracle gave a result that is no object",
    "oracle_state_failed": "the final state could not be read from the oracle",
    "oracle_session_failed": "the oracle's session broke",
    "unknown_commit_state": "nobody knows whether a call took effect",
    "dependency_resolution_failed": "an expected argument could not be taken from an earlier result",
    "assertion_infrastructure_failed": "an assertion could not be run",
}
"""Ends for which no reply needs to be at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WentWrong:
    """Where to begin reading."""

    turn_index: int | None
    """The script's; None where no turn that was asked is at fault."""
    turns: int
    """How many the script has."""
    what: str
    """In plain words, the same for all that went wrong alike."""
    never_asked: tuple[str, int] | None
    """The first failing gate and the turn it names, where that turn comes after the one at which it went wrong."""

    def __str__(self) -> str:
        place = "" if self.turn_index is None else f"assistant turn {self.turn_index + 1} of {self.turns}: "
        return f"{place}{self.what}"

    @property
    def remark(self) -> str | None:
        """Why the first failing gate names another turn."""
        if self.never_asked is None:
            return None
        gate, turn = self.never_asked
        return (
            f"the gate {gate} counts what assistant turn {turn + 1} expects, too; that turn was never asked, because "
            "the conversation had ended"
        )

    def to_json(self) -> dict[str, Json]:
        return {"turn_index": self.turn_index, "what": self.what, "remark": self.remark}


def went_wrong(script: Script, evidence: EpisodeEvidence, scoring: Scoring, gate: Gate | None) -> WentWrong:
    """Of a failed task whose first failing gate is `gate`.

    A candidate that finds its own way may depart and come right again; of such a task it is the first departure.
    """
    turns = evidence.turns
    live = is_live(evidence, scoring)
    turn = next((one for one in turns if not (fits(one) if live else one.advanced)), None)
    status = evidence.status
    return WentWrong(
        turn_index=None if turn is None else turn.turn_index,
        turns=len(script.turns),
        what=_ended(status) if turn is None else _replied(script, turn, status, ended=turn is turns[-1]),
        never_asked=None if gate is None else _never_asked(gate, turns),
    )


def _never_asked(gate: Gate, turns: Sequence[TurnEvidence]) -> tuple[str, int] | None:
    """The gate and its turn, where the conversation had ended before that."""
    at = gate.turn_index
    return (gate.name, at) if at is not None and turns and at > turns[-1].turn_index else None


def _ended(status: EpisodeStatus) -> str:
    return _ENDS.get(status, f"the episode ended as {status}")


def _replied(script: Script, turn: TurnEvidence, status: EpisodeStatus, *, ended: bool) -> str:
    """What was the matter with a reply; `ended` says that the episode went no further."""
    if ended and status in _REPLIES:
        return _REPLIES[status]
    if ended and status == "confirmation_not_earned":
        return _not_earned(script, turn)
    response = turn.response
    if response is None:
        unread = turn.call_status == "malformed_response"
        return "the reply could not be read" if unread else f"no usable reply came ({turn.call_status})"
    if response.incomplete:
        return f"the reply was cut off ({response.finish_reason})"
    if fits(turn):
        return _ended(status)
    return _instead_of_words(turn) if turn.text_ok is not None else _instead_of_calls(turn)


def _not_earned(script: Script, turn: TurnEvidence) -> str:
    """Of a call that claims a confirmation: what the user has said before the turn is in what the turn expects.

    Which parameter confirms is the pack's to know, so that a call counts as confirmed otherwise where it claims nothing
    that an expected one does not claim as well.
    """
    response = turn.response
    at = next((one.call_index for one in turn.executions if one.reason == NOT_EARNED), None)
    if response is None or at is None:
        return _UNCONFIRMED
    if at < len(turn.matches) and turn.matches[at].full:
        return _instead_of_calls(turn)
    call = response.tool_calls[at]
    claimed = _claims(script, call.function_name, call.parsed_arguments or {})
    if any(claimed and claimed <= _claims(script, one.tool, one.arguments) for one in turn.gold):
        return "a call says that the user has confirmed it, who has confirmed another call"
    return _UNCONFIRMED


def _claims(script: Script, tool: str, arguments: Mapping[str, Json]) -> set[str]:
    """Parameters that say yes, those left out by their declared default."""
    return {name for name, value in {**_defaults(script, tool), **arguments}.items() if value is True}


def _defaults(script: Script, tool: str) -> dict[str, Json]:
    functions = [one["function"] for one in script.tools]
    schemas = [one.get("parameters") for one in functions if isinstance(one, Mapping) and one.get("name") == tool]
    declared = [one.get("properties") for one in schemas if isinstance(one, Mapping)]
    return {
        name: schema["default"]
        for one in declared
        if isinstance(one, Mapping)
        for name, schema in one.items()
        if isinstance(schema, Mapping) and "default" in schema
    }


def _instead_of_words(turn: TurnEvidence) -> str:
    assert turn.response is not None
    if turn.response.tool_calls:
        return "it made a call where words were due"
    if in_words(turn.response.assistant_content):
        return "its words are not the recorded ones"
    return "it said nothing where words were due"


def _instead_of_calls(turn: TurnEvidence) -> str:
    made, expected = len(turn.matches), len(turn.gold)
    if not made:
        assert turn.response is not None
        said = in_words(turn.response.assistant_content)
        return "it answered in words where a call was due" if said else "it made no call where one was due"
    if made != expected:
        return "it made more calls than expected" if made > expected else "it made fewer calls than expected"
    if not all(match.name_matches and match.gold_index is not None for match in turn.matches):
        return "it called another tool than expected"
    if not all(match.full for match in turn.matches):
        return "a call has other arguments than expected"
    return "its calls are right, in another order than expected"
