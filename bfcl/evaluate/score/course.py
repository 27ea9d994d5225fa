"""How far did a conversation come, what did it name and match, and who answers for where it stopped?

Reads evidence and compares nothing: what matches what was settled when the reply came in. Rule: evaluation.md §9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from bfcl.evaluate.compare.words import in_words
from bfcl.evaluate.records import CallMatch, EpisodeEvidence, EpisodeStatus, Script, TurnEvidence, attribution
from bfcl.evaluate.settings.model import Scoring

AFTER_THE_TALK: Final[frozenset[EpisodeStatus]] = frozenset(
    {"oracle_state_failed", "assertion_infrastructure_failed", "episode_timeout"}
)
"""Statuses that may still befall an episode whose conversation is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What gates and counts read off an episode. Turn indexes are the script's, gold indexes the row's."""

    script: Script
    evidence: EpisodeEvidence
    scoring: Scoring
    live: bool
    """The candidate finds its own way: a turn may be asked again, or passed over (§17.1)."""
    answered: frozenset[int]
    """Turns with a usable reply; not the turn that was asked last in vain."""
    named: frozenset[int]
    """Gold calls that a call of the right name claims."""
    matched: frozenset[int]
    """Gold calls that were made as expected."""
    surplus: tuple[int, ...]
    """Turns with a call that claims no gold call, ascending."""
    reached_end: bool

    def blame(self, turn: int | None) -> Literal["candidate", "infrastructure"]:
        """Who answers for a failed trace gate that names `turn`; None stands for what comes after the last turn.

        The run does iff it stopped the episode and that turn was never answered.
        """
        stopped = attribution(self.evidence.status) == "infrastructure"
        return "infrastructure" if stopped and turn not in self.answered else "candidate"

    def turn_of(self, gold_index: int) -> int:
        """The turn that expects a gold call."""
        return next(turn.index for turn in self.script.turns if any(call.index == gold_index for call in turn.calls))

    @property
    def last(self) -> TurnEvidence | None:
        """The turn that was asked last."""
        return self.evidence.turns[-1] if self.evidence.turns else None

    @property
    def next_turn(self) -> int | None:
        """The turn that would have been asked next, or None where there is none to name."""
        if self.last is None:
            return 0
        after = self.last.turn_index + 1
        return None if self.live or after == len(self.script.turns) else after


def course_of(script: Script, evidence: EpisodeEvidence, scoring: Scoring) -> Course:
    """Read an episode. The evidence must agree with itself and the script: see `agreement`."""
    live = is_live(evidence, scoring)
    turns = evidence.turns
    answered = {turn.turn_index for turn in turns if turn.response is not None}
    if turns and turns[-1].response is None:
        answered.discard(turns[-1].turn_index)
    named: set[int] = set()
    matched: set[int] = set()
    surplus: list[int] = []
    for turn in turns:
        claims = list(_claims(turn))
        # Asked again, a gold call that was already made as expected cannot be earned a second time.
        if len(claims) < len(turn.matches) or any(match.gold_index in matched for match in claims):
            surplus.append(turn.turn_index)
        named |= {match.gold_index for match in claims if match.gold_index is not None}
        matched |= {match.gold_index for match in claims if match.gold_index is not None and match.full}
    return Course(
        script=script,
        evidence=evidence,
        scoring=scoring,
        live=live,
        answered=frozenset(answered),
        named=frozenset(named),
        matched=frozenset(matched),
        surplus=tuple(surplus),
        reached_end=_ended_in_words(evidence) if live else went_through(script, evidence),
    )


def is_live(evidence: EpisodeEvidence, scoring: Scoring) -> bool:
    """Whether the candidate was left to find its own way."""
    return evidence.mode == "executable" and scoring.executable_continuation == "live"


def fits(turn: TurnEvidence) -> bool:
    """Whether a reply was what the turn expects, complete and in order; what came of its calls is another matter."""
    if turn.response is None or turn.response.incomplete:
        return False
    if turn.text_ok is not None:
        return turn.text_ok
    complete = len(turn.matches) == len(turn.gold) and all(match.full for match in turn.matches)
    return complete and turn.ordered


def went_through(script: Script, evidence: EpisodeEvidence) -> bool:
    """Whether every turn of the script was asked and advanced."""
    return len(evidence.turns) == len(script.turns) and all(turn.advanced for turn in evidence.turns)


def _claims(turn: TurnEvidence) -> Iterator[CallMatch]:
    return (match for match in turn.matches if match.gold_index is not None and match.name_matches)


def _ended_in_words(evidence: EpisodeEvidence) -> bool:
    """Whether an episode on its own way came to its end: completed, or broken only after its last words."""
    if evidence.status not in AFTER_THE_TALK:
        return evidence.status == "completed"
    last = evidence.turns[-1].response if evidence.turns else None
    if last is None or last.incomplete or last.tool_calls:
        return False
    return evidence.status != "episode_timeout" and in_words(last.assistant_content)
