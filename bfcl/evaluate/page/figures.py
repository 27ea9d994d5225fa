"""Which charts does the page have? Every chart's numbers stand in a table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bfcl.evaluate.page.data import Labelled
from bfcl.evaluate.page.rates import GateRate, Headline, Shares, by_kind, gate_rates
from bfcl.evaluate.page.wording import OPEN, TITLES, between, percent, resampled
from bfcl.evaluate.score.rates import Rate
from bfcl.release.document.charts import LABEL_CHARACTERS, SHOWN, Span, clipped, spans
from bfcl.release.document.figure import Figure

LONGEST_LABEL: Final = 56
"""Characters of a label beside a chart that has the whole width of the page."""

_GATE_HEAD: Final = (
    "gate",
    "passed",
    "applies to",
    "rate",
    "95% interval (Wilson)",
    "failed by candidate",
    "failed otherwise",
)
_KIND_TAIL: Final = (
    "candidate",
    "succeeded",
    "tasks",
    "rate",
    "95% interval (Wilson)",
    "non-candidate stops",
    "rate without them",
)


def headline_figure(headlines: Sequence[Headline]) -> Figure:
    """Every candidate's success rate."""
    svg, _ = _drawn([_span(one.label, one.shares.all) for one in headlines])
    return Figure(
        title="Task success rate",
        svg=svg,
        head=(
            "candidate",
            "succeeded",
            "tasks",
            "task success rate",
            "95% interval (Wilson)",
            "95% interval clustered by template",
            "non-candidate stops",
            "rate without them",
            "its 95% interval (Wilson)",
        ),
        rows=tuple(
            (
                one.label,
                *_counts(one.shares.all),
                resampled(one.clustered),
                f"{one.shares.stops:,}",
                percent(one.shares.own.share),
                between(one.shares.own),
            )
            for one in headlines
        ),
        note=_left_out(len(headlines)),
        wide=True,
    )


def gate_figure(one: Labelled) -> Figure:
    """How often each gate passed of the tasks it applies to."""
    gates = gate_rates(one.entrant.scores)
    svg, wide = _drawn([_span(gate.gate, gate.rate) for gate in gates])
    return Figure(
        title=f"Gates: {one.label}",
        svg=svg,
        head=_GATE_HEAD,
        rows=tuple(map(_gate_row, gates)),
        wide=wide,
    )


def kind_figure(candidates: Sequence[Labelled], dimension: str) -> Figure:
    """Success by the values of a dimension, candidates beside each other."""
    found = {one.label: by_kind(one, dimension) for one in candidates}
    values = sorted(
        {value for kinds in found.values() for value in kinds}, key=lambda value: (value is None, value or "")
    )
    lines = [
        (OPEN if value is None else value, label, kinds[value])
        for value in values
        for label, kinds in found.items()
        if value in kinds
    ]
    alone = len(candidates) == 1
    svg, wide = _drawn(
        [_span(value if alone else f"{value} · {label}", each.all) for value, label, each in lines[:SHOWN]]
    )
    return Figure(
        title=TITLES[dimension],
        svg=svg,
        head=(TITLES[dimension].lower(), *_KIND_TAIL),
        rows=tuple(_kind_row(value, label, each) for value, label, each in lines),
        note=_left_out(len(lines)),
        wide=wide,
    )


def _drawn(lines: Sequence[Span]) -> tuple[str, bool]:
    """The chart, and whether its labels are so long that it needs the whole width of the page."""
    labels = [shortened(line.label) for line in lines]
    wide = any(clipped(label, LABEL_CHARACTERS) != label for label in labels)
    told = [line._replace(label=label) for line, label in zip(lines, labels, strict=True)]
    return spans(told, label_characters=LONGEST_LABEL if wide else LABEL_CHARACTERS), wide


def shortened(label: str) -> str:
    """A label that fits into the widest chart: both ends of a longer one, since names often differ in the last part."""
    if len(label) <= LONGEST_LABEL:
        return label
    half = LONGEST_LABEL // 2
    return f"{label[: half - 1]}…{label[-half:]}"


def _counts(rate: Rate) -> tuple[str, str, str, str]:
    return f"{rate.successes:,}", f"{rate.tasks:,}", percent(rate.share), between(rate)


def _span(label: str, rate: Rate) -> Span:
    interval = rate.interval
    low, high = (0.0, 0.0) if interval is None else (interval.low, interval.high)
    return Span(label, rate.share, low, high, percent(rate.share))


def _gate_row(one: GateRate) -> tuple[str, ...]:
    return (one.gate, *_counts(one.rate), f"{one.candidate:,}", f"{one.other:,}")


def _kind_row(value: str, label: str, each: Shares) -> tuple[str, ...]:
    return (value, label, *_counts(each.all), f"{each.stops:,}", percent(each.own.share))


def _left_out(lines: int) -> str | None:
    return f"The first {SHOWN} of {lines:,}; the table has all." if lines > SHOWN else None
