"""Which charts does the page have? Every chart's numbers stand in a table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bfcl.evaluate.page.chart import Chart, line
from bfcl.evaluate.page.data import Labelled
from bfcl.evaluate.page.rates import GateRate, Headline, Shares, by_kind, gate_rates
from bfcl.evaluate.page.wording import OPEN, TITLES, between, percent, resampled
from bfcl.evaluate.score.rates import Rate
from bfcl.release.document.charts import SHOWN

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


def headline_figure(headlines: Sequence[Headline]) -> Chart:
    """Every candidate's success rate."""
    return Chart(
        title="Task success rate",
        lines=tuple(line(one.label, one.shares.all) for one in headlines[:SHOWN]),
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


def gate_figure(one: Labelled) -> Chart:
    """How often each gate passed of the tasks it applies to."""
    gates = gate_rates(one.entrant.scores)
    return Chart(
        title=f"Gates: {one.label}",
        lines=tuple(line(gate.gate, gate.rate) for gate in gates),
        head=_GATE_HEAD,
        rows=tuple(map(_gate_row, gates)),
    )


def kind_figure(candidates: Sequence[Labelled], dimension: str) -> Chart:
    """Success by the values of a dimension, candidates below each value where there are several."""
    found = {one.label: by_kind(one, dimension) for one in candidates}
    values = sorted(
        {value for kinds in found.values() for value in kinds}, key=lambda value: (value is None, value or "")
    )
    told = [
        (OPEN if value is None else value, label, kinds[value])
        for value in values
        for label, kinds in found.items()
        if value in kinds
    ]
    alone = len(candidates) == 1
    return Chart(
        title=TITLES[dimension],
        lines=tuple(
            line(value, each.all) if alone else line(label, each.all, group=value)
            for value, label, each in told[:SHOWN]
        ),
        head=(TITLES[dimension].lower(), *_KIND_TAIL),
        rows=tuple(_kind_row(value, label, each) for value, label, each in told),
        note=_left_out(len(told)),
    )


def _counts(rate: Rate) -> tuple[str, str, str, str]:
    return f"{rate.successes:,}", f"{rate.tasks:,}", percent(rate.share), between(rate)


def _gate_row(one: GateRate) -> tuple[str, ...]:
    return (one.gate, *_counts(one.rate), f"{one.candidate:,}", f"{one.other:,}")


def _kind_row(value: str, label: str, each: Shares) -> tuple[str, ...]:
    return (value, label, *_counts(each.all), f"{each.stops:,}", percent(each.own.share))


def _left_out(lines: int) -> str | None:
    return f"The first {SHOWN} of {lines:,}; the table has all." if lines > SHOWN else None
