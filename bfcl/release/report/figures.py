"""Which charts does the page have, and which numbers stand beside each?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from bfcl.release.document.charts import SHOWN, Bar, bars, counted, grid
from bfcl.release.document.figure import Figure
from bfcl.release.report.facts import Facts, Timing, by_count

STATUSES: Final[Mapping[str, str]] = {
    "passed": "var(--good)",
    "failed": "var(--bad)",
    "error": "var(--error)",
    "not_applicable": "var(--quiet)",
}
"""Status of an assertion to the colour of its part of a bar."""

_OF: Final = "published tasks"


def funnel(facts: Facts) -> Figure:
    """How many tasks came through each stage, and why the others did not."""
    steps = facts.funnel()
    rows = [("expanded", f"{facts.tasks:,}", "", "")]
    for step in steps:
        why = "; ".join(f"{reason} ({count:,})" for reason, count in step.reasons)
        rows.append((step.label, f"{step.stayed:,}", f"{step.lost:,}", why))
    return Figure(
        title="Tasks that came through each stage",
        svg=bars(counted([("expanded", facts.tasks), *((step.label, step.stayed) for step in steps)])),
        head=("tasks that are", "left", "lost", "why"),
        rows=tuple(rows),
    )


def mixes(facts: Facts) -> list[Figure]:
    """Of what kinds the published tasks are."""
    kinds = {
        ("Turn policies", "turn policy"): facts.policies,
        ("Categories", "category"): facts.categories,
        ("Difficulty", "difficulty"): facts.difficulties,
        ("Languages", "language"): facts.languages,
    }
    found = [_mix(title, head, by_count(counts.items()), facts.published) for (title, head), counts in kinds.items()]
    found += [
        _mix("User turns", "user turns", _by_number(facts.user_turns), facts.published),
        _mix("Expected calls", "expected calls", _by_number(facts.calls), facts.published),
        _tools(facts),
        _crossing(facts),
    ]
    return found


def _mix(title: str, head: str, counts: Sequence[tuple[str, int]], total: int) -> Figure:
    return Figure(
        title=title,
        svg=bars(counted(counts)),
        head=(head, _OF, "share"),
        rows=tuple((name, f"{count:,}", _share(count, total)) for name, count in counts),
        note=_left_out(len(counts)),
    )


def _by_number(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    return [(str(number), counts[number]) for number in sorted(counts)]


def _share(count: int, total: int) -> str:
    return f"{count / (total or 1):.1%}"


def _tools(facts: Facts) -> Figure:
    counts = by_count(facts.tool_tasks.items())
    return Figure(
        title="Tools called",
        svg=bars(counted(counts)),
        head=("tool", "published tasks that call it", "share", "calls"),
        rows=tuple(
            (name, f"{count:,}", _share(count, facts.published), f"{facts.tool_calls[name]:,}")
            for name, count in counts
        ),
        note=_left_out(len(counts)),
    )


def _crossing(facts: Facts) -> Figure:
    categories = [name for name, _ in by_count(facts.categories.items())]
    policies = [name for name, _ in by_count(facts.policies.items())]
    return Figure(
        title="Categories and turn policies",
        svg=grid(facts.crossing, categories, policies),
        head=("category", *policies),
        rows=tuple((each, *(f"{facts.crossing[each, policy]:,}" for policy in policies)) for each in categories),
        note=_left_out(len(categories)),
        wide=True,
    )


def assertions(facts: Facts) -> Figure:
    """Outcomes of each assertion over all replayed tasks: those that failed most first, then by name."""
    counts: dict[str, Counter[str]] = {}
    for (_, name, status), count in facts.assertions.items():
        counts.setdefault(name, Counter())[status] += count
    names = sorted(counts, key=lambda name: (-counts[name]["failed"] - counts[name]["error"], name))
    return Figure(
        title="Assertion outcomes",
        svg=bars([_outcomes(name, counts[name]) for name in names]),
        head=("assertion", *STATUSES),
        rows=tuple((name, *(f"{counts[name][status]:,}" for status in STATUSES)) for name in names),
        note=_left_out(len(names)),
    )


def _outcomes(name: str, counts: Mapping[str, int]) -> Bar:
    parts = {colour: float(counts.get(status, 0)) for status, colour in STATUSES.items() if counts.get(status)}
    return Bar(name, parts, f"{counts.get('passed', 0):,}/{sum(counts.values()):,}")


def assertion_rows(facts: Facts) -> list[tuple[str, ...]]:
    """Template, assertion and a count for each of `STATUSES`, in table order."""
    pairs = dict.fromkeys((template, name) for template, name, _ in facts.assertions)
    return [
        (template, name, *(f"{facts.assertions[template, name, status]:,}" for status in STATUSES))
        for template, name in pairs
    ]


def same_time(timing: Timing) -> str | None:
    """The time that all of several templates have in common, or None: then a chart has nothing to compare."""
    # To the microseconds of the build log: nearly equal times are measured ones.
    times = {round(seconds, 6) for seconds in timing.seconds.values()}
    return _seconds(times.pop()) if len(timing.seconds) > 1 and len(times) == 1 else None


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s"


def replay_time(facts: Facts, timing: Timing) -> Figure:
    """Seconds a template's replays took, slowest first."""
    slowest = sorted(timing.seconds.items(), key=lambda item: (-item[1], item[0]))
    rows = []
    for name, seconds in slowest:
        tasks = facts.templates[name].tasks if name in facts.templates else 0
        rows.append((name, f"{seconds:.3f}", f"{tasks:,}", f"{1000 * seconds / tasks:.1f}" if tasks else ""))
    return Figure(
        title="Replay time by template",
        svg=bars([Bar(name, {"var(--bar)": seconds}, _seconds(seconds)) for name, seconds in slowest]),
        head=("template", "seconds", "tasks", "ms a task"),
        rows=tuple(rows),
        note=_left_out(len(slowest)),
    )


def _left_out(lines: int) -> str | None:
    return f"The first {SHOWN} of {lines:,}; the table has all." if lines > SHOWN else None
