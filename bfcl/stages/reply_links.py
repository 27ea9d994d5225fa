"""Which user turn answers which milestone? Rule: pack.md §5.4.

Conversation order, wording and expansion ask here, so a turn answers the same milestone wherever it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bfcl.errors import Problem, did_you_mean
from bfcl.records.ids import TEXT_MILESTONES
from bfcl.records.template import Milestone, Template


class ReplyLinks(NamedTuple):
    """Milestone index to the index of the simulator entry that answers it, and what does not resolve."""

    replies: dict[int, int]
    problems: list[Problem]

    def answered(self) -> dict[int, int]:
        """Simulator entry index to the index of the milestone it answers."""
        return {entry: index for index, entry in self.replies.items()}


def reply_links(template: Template) -> ReplyLinks:
    """Who answers whom; an entry that does not resolve answers nobody and has a `simulator_after_unresolved`."""
    replies: dict[int, int] = {}
    problems = []
    last = len(template.assistant_milestones) - 1
    for entry, turn in enumerate(template.user_simulator_turns):
        index, message = _followed(template.assistant_milestones, turn.after)
        if index is not None and index in replies:
            message = f"entries {replies[index]} and {entry} both follow `{turn.after}`; expected one reply a milestone"
        elif index == last and template.assistant_milestones[last].type == "ask_for_slot":
            message = f"`{turn.after}` is a closing question, which stays unanswered; expected no entry after it"
        elif index is not None:
            replies[index] = entry
            continue
        known = [each.id for each in template.assistant_milestones if each.type in TEXT_MILESTONES]
        problems.append(
            Problem(
                code="simulator_after_unresolved",
                subject=template.template_id,
                field=f"user_simulator_turns.{entry}.after",
                message=message,
                fix=did_you_mean(turn.after, known) if index is None else None,
            )
        )
    return ReplyLinks(replies, problems)


def _followed(milestones: Sequence[Milestone], after: str) -> tuple[int | None, str]:
    """The text milestone `after` names, by id or by a type that occurs once; else None and what was seen."""
    found = [index for index, milestone in enumerate(milestones) if milestone.id == after]
    if not found:
        found = [index for index, milestone in enumerate(milestones) if milestone.type == after]
    if not found:
        return None, f"`{after}` is neither a milestone id nor a milestone type of this template"
    if len(found) > 1:
        return None, f"`{after}` names {len(found)} milestones; expected exactly one"
    if milestones[found[0]].type not in TEXT_MILESTONES:
        return None, f"`{after}` names a tool call; expected a text milestone"
    return found[0], ""
