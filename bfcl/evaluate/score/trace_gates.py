"""Did the conversation go as expected? The seven gates of a trace score. Rule: evaluation.md §9.

Coverage gates (`tool_selection`, `arguments`) count every gold call, those of turns never reached too. The others
judge the turns that were asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from bfcl.evaluate.records import Gate, GateName, TurnEvidence, attribution
from bfcl.evaluate.score.course import Course, fits
from bfcl.evaluate.score.taxonomy import INCOMPLETE_FINISH, matched, mismatch, not_applicable


def trace_gates(course: Course) -> tuple[Gate, ...]:
    """The seven in order."""
    return (
        _tool_selection(course),
        _arguments(course),
        _schema_valid(course),
        _call_grouping(course),
        _call_ordering(course),
        _text_turn(course),
        _trace_completion(course),
    )


def inapplicable(name: GateName, course: Course) -> Gate:
    """The gate where it does not apply."""
    code = not_applicable(name, course.evidence.mode)
    return Gate(name=name, outcome="not_applicable", reason_code=code, failure_class="none", turn_index=None)


def passed(name: GateName, code: str) -> Gate:
    """The gate where it holds."""
    return Gate(name=name, outcome="passed", reason_code=code, failure_class="none", turn_index=None)


def _failed(name: GateName, course: Course, turn: int | None, code: str | None = None) -> Gate:
    return Gate(
        name=name,
        outcome="failed",
        reason_code=code or mismatch(name),
        failure_class=course.blame(turn),
        turn_index=turn,
    )


def _judged(name: GateName, course: Course, faulty: Iterable[int]) -> Gate:
    """Failed at the first of the faulty turns, passed where there is none."""
    first = min(faulty, default=None)
    return passed(name, matched(name)) if first is None else _failed(name, course, first)


def _tool_selection(course: Course) -> Gate:
    unnamed = {call.index for call in course.script.gold_calls} - course.named
    return _judged("tool_selection", course, [*course.surplus, *map(course.turn_of, unnamed)])


def _arguments(course: Course) -> Gate:
    if not course.script.gold_calls:
        return inapplicable("arguments", course)
    missed = {call.index for call in course.script.gold_calls} - course.matched
    return _judged("arguments", course, map(course.turn_of, missed))


def _schema_valid(course: Course) -> Gate:
    made = [(turn.turn_index, match) for turn in course.evidence.turns for match in turn.matches]
    if course.scoring.argument_matching == "canonical_only" or not made:
        return inapplicable("schema_valid", course)
    return _judged("schema_valid", course, (index for index, match in made if match.schema_reasons))


def _call_grouping(course: Course) -> Gate:
    asked = _call_turns(course)
    if not course.scoring.respect_call_group or not asked:
        return inapplicable("call_grouping", course)
    return _judged("call_grouping", course, (turn.turn_index for turn in asked if not _counts_agree(turn)))


def _counts_agree(turn: TurnEvidence) -> bool:
    return turn.response is not None and len(turn.response.tool_calls) == len(turn.gold)


def _call_ordering(course: Course) -> Gate:
    # A turn without a reply has no order to judge, and must not count as well ordered either.
    asked = [turn for turn in _call_turns(course) if turn.response is not None]
    free = not course.scoring.respect_call_order or course.script.call_order == "any"
    if free or len(course.script.gold_calls) < 2 or not asked:
        return inapplicable("call_ordering", course)
    return _judged("call_ordering", course, (turn.turn_index for turn in asked if not turn.ordered))


def _call_turns(course: Course) -> list[TurnEvidence]:
    return [turn for turn in course.evidence.turns if turn.text_ok is None]


def _text_turn(course: Course) -> Gate:
    asked = [turn for turn in course.evidence.turns if turn.text_ok is not None]
    if not asked:
        return inapplicable("text_turn", course)
    return _judged("text_turn", course, (turn.turn_index for turn in asked if not turn.text_ok))


def _trace_completion(course: Course) -> Gate:
    turns = course.evidence.turns
    cut = next((turn for turn in turns if turn.response is not None and turn.response.incomplete), None)
    if cut is not None:
        return _failed("trace_completion", course, cut.turn_index, INCOMPLETE_FINISH)
    if course.reached_end:
        return passed("trace_completion", matched("trace_completion"))
    return _failed("trace_completion", course, _stopped_at(course))


def _stopped_at(course: Course) -> int | None:
    """The turn that a conversation could not get past. Where the run stopped it after a good reply, the next one."""
    last = course.last
    if last is None:
        return course.next_turn
    departed = not course.live and not last.advanced and not fits(last)
    candidates = attribution(course.evidence.status) != "infrastructure"
    if last.response is None or departed or candidates:
        return last.turn_index
    return course.next_turn
