"""Which tables does the page have beside its charts? Heads, and rows of as many cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bfcl.evaluate.after.comparison_page import p_text
from bfcl.evaluate.page.comparison import Comparison
from bfcl.evaluate.page.data import Labelled
from bfcl.evaluate.page.rates import GateRate, gate_rates
from bfcl.evaluate.page.usage import Usage
from bfcl.evaluate.page.wording import NONE, OPEN, TITLES, milliseconds, percent, resampled
from bfcl.evaluate.score.intervals import Bootstrap
from bfcl.evaluate.score.repeats import Repeated


def failing_gates(candidates: Sequence[Labelled]) -> list[tuple[str, str, str, int]]:
    """First failing gate, who is answerable, candidate, failed tasks: in gate order, then by candidate."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in candidates:
        for score in one.entrant.scores:
            if not score.task_success:
                gate = next((gate for gate in score.gates if gate.outcome == "failed"), None)
                name, answerable = ("assertions", "candidate") if gate is None else (gate.name, gate.failure_class)
                counts[name, answerable, one.label] = counts.get((name, answerable, one.label), 0) + 1
    order = [gate.gate for gate in _all_gates(candidates)]
    labels = [one.label for one in candidates]
    return [
        (name, answerable, label, counts[name, answerable, label])
        for name, answerable, label in sorted(
            counts, key=lambda key: (order.index(key[0]) if key[0] in order else -1, key[1], labels.index(key[2]))
        )
    ]


def comparison_rows(made: Sequence[Comparison]) -> list[tuple[str, ...]]:
    """One row a comparison."""
    return [
        (
            f"{one.first} against {one.second}",
            *(
                f"{count:,}"
                for count in (one.tally.both, one.tally.only_first, one.tally.only_second, one.tally.neither)
            ),
            f"{one.tally.equal_otherwise:,}",
            f"{100 * one.difference:+.1f} points",
            _interval(one.interval),
            p_text(one.tally.p_value),
            p_text(one.adjusted),
        )
        for one in made
    ]


def _interval(one: Bootstrap) -> str:
    told = resampled(one, signed=True)
    return told if one.interval is None else f"{told} ({one.clusters:,} templates)"


COMPARISON_HEAD: Final = (
    "first against second",
    "both",
    "only first",
    "only second",
    "neither",
    "equal shares of trials",
    "difference",
    "95% interval clustered by template",
    "p (exact McNemar)",
    "p adjusted (Holm)",
)

GROUP_HEAD: Final = ("kind", "value", "tasks", "only first", "only second", "difference", "p", "p adjusted (Holm)")
GROUPS_SHOWN: Final = 40


def group_rows(one: Comparison) -> list[tuple[str, ...]]:
    """Kinds of task, those that differ most surely first."""
    ranked = sorted(one.groups, key=lambda group: (group.adjusted, group.tally.p_value))
    return [
        (
            TITLES[group.dimension].lower(),
            OPEN if group.value is None else group.value,
            f"{group.tasks:,}",
            f"{group.tally.only_first:,}",
            f"{group.tally.only_second:,}",
            f"{100 * float(group.difference):+.1f} points",
            p_text(group.tally.p_value),
            p_text(group.adjusted),
        )
        for group in ranked[:GROUPS_SHOWN]
    ]


USAGE_HEAD: Final = (
    "candidate",
    "calls",
    "HTTP requests",
    "input tokens",
    "output tokens",
    "tokens a reply",
    "p50 latency",
    "p95 latency",
    "not answered",
    "refused by HTTP status",
)


def usage_row(label: str, usage: Usage) -> tuple[str, ...]:
    """What a candidate's calls came to."""
    telling = usage.replies - usage.silent
    untold = f" (replies that do not tell: {usage.silent:,})" if usage.silent else ""
    return (
        label,
        f"{usage.calls:,}",
        f"{usage.requests:,}",
        *(f"{count:,}{untold}" if telling else NONE for count in (usage.input_tokens, usage.output_tokens)),
        f"{(usage.input_tokens + usage.output_tokens) / telling:,.0f}" if telling else NONE,
        milliseconds(usage.latency_ms(50)),
        milliseconds(usage.latency_ms(95)),
        "; ".join(f"{status}: {count:,}" for status, count in usage.statuses.items()) or "none",
        "; ".join(f"{status}: {count:,}" for status, count in usage.rejections.items()) or "none",
    )


PASS_HEAD: Final = ("candidate", "k", "tasks with k trials", "pass^k: all of k succeed", "pass@k: any of k succeeds")
FLIP_HEAD: Final = ("candidate", "verdict", "tasks that went both ways", "tasks judged twice or more", "flip rate")


def pass_rows(label: str, repeated: Repeated) -> list[tuple[str, ...]]:
    """One row for each k."""
    return [
        (
            label,
            str(one.k),
            f"{one.tasks:,}",
            *(percent(None if mean is None else float(mean)) for mean in (one.every, one.some)),
        )
        for one in repeated.passes
    ]


def flip_rows(label: str, repeated: Repeated) -> list[tuple[str, ...]]:
    """One row for each gate, after the verdict's."""
    return [
        (
            label,
            name,
            f"{count.numerator:,}",
            f"{count.denominator:,}",
            percent(count.numerator / count.denominator if count.denominator else None),
        )
        for name, count in repeated.flips.items()
    ]


def _all_gates(candidates: Sequence[Labelled]) -> list[GateRate]:
    """Of the candidate with most of them: an executable evaluation has those of a trace, too."""
    return max((gate_rates(one.entrant.scores) for one in candidates), key=len, default=[])
