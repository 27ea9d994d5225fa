"""Which ways of wording a paraphrase may take when the configuration names none? Rule: generation.md §4.3.

Each axis speaks of the structure of an utterance, never of a domain, so that it fits any pack.
"""

from __future__ import annotations

STYLE_AXES: tuple[str, ...] = (
    "a plain command",
    "a courteous question that could be answered with yes or no",
    "the goal first, the details after it",
    "the values first, what to do with them after",
    "clipped, with words left out as in a short message",
    "with a short reason for asking",
    "two short sentences",
    "formal, as at a service desk",
    "informal, as to a colleague",
    "a greeting before the request",
    "thanks at the end",
    "as a belief that wants confirming",
    "with doubt about whether this is the right way",
    "as what follows after an earlier step",
    "a condition first, the request depending on it",
    "asking whether help with this is possible",
    "repeating the values to have them cross-checked",
    "mildly urgent",
    "as a second attempt after an unanswered request",
    "handing the matter over and waiting for a report",
)
