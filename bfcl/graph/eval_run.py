"""How is one evaluation run and told, whichever command asks for it? Rule: evaluation.md §1, §14, §17.11."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bfcl.evaluate.artifacts.names import HELD_OUT_FILE, REPORT
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.going_on import interrupted
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import Preflight, calls_line, estimate_line, payload_lines
from bfcl.evaluate.run.stopped import require_measured, warnings_of
from bfcl.evaluate.score.intervals import wilson
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.graph.eval_progress import EvalProgress
from bfcl.graph.eval_runtime import eval_runtime
from bfcl.graph.say import warn


def run_envelope(envelope: Envelope, tell: Callable[[Sequence[str]], None], *, eval_run_id: str | None = None) -> None:
    """Evaluate, and `tell` the lines for standard output. What people watch meanwhile goes to standard error.

    Raises: as `load_settings` and `evaluate`; of an interrupt it is told first what is left. Once all is written and
    told, EvalError `eval_nothing_measured` as `require_measured`.
    """
    settings = load_settings(envelope.eval_config_path)
    showing = EvalProgress([one.alias for one in settings.candidates])
    try:
        outcome = evaluate(envelope, settings, How(eval_run_id=eval_run_id, showing=showing, runtime=eval_runtime))
    except KeyboardInterrupt:
        warn(interrupted(settings, envelope))
        raise
    lines = payload_lines(outcome.payload(), envelope.output_format)
    if isinstance(outcome, Preflight):
        showing.warn(outcome.warnings)
        warn(estimate_line(outcome.estimate))
        tell(lines)
        return
    warn(calls_line(outcome.calls))
    report = json.loads(outcome.report_path.read_bytes()) if outcome.report_path.name == REPORT else {}
    for line in rate_lines(report):
        warn(line)
    private = outcome.report_path.with_name(HELD_OUT_FILE)
    for line in gap_lines(json.loads(private.read_bytes()) if "held_out_eval" in settings.modes else {}):
        warn(line)
    showing.warn(warnings_of(outcome.stopped, settings.outputs))
    tell(lines)
    require_measured(outcome.stopped, settings.outputs)


def rate_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """What came out, a line for each candidate of a report."""
    for entry in report.get("candidates", ()):
        alias, tasks, right = entry["alias"], entry["task_count"], entry["successful_tasks"]
        interval = wilson(right, tasks)
        if interval is not None:
            yield f"{alias}: {right} of {tasks} tasks, {right / tasks:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def gap_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The gap of each candidate of a held-out report, after what was stopped on either side."""
    for entry in report.get("candidates", ()):
        sides = [
            f"{entry[name]['successes']} of {entry[name]['tasks']} {kind} tasks ({entry[name]['non_candidate_stops']} "
            "stopped by the run)"
            for name, kind in (("seen", "public"), ("held_out", "held-out"))
        ]
        told = [
            f"{name} {_points(entry[key])}"
            for key, name in (("gap", "gap"), ("gap_excluding_non_candidate_stops", "without stops"))
        ]
        yield f"{entry['alias']}: {', '.join(sides)}: {', '.join(told)}"


def _points(gap: Mapping[str, Any] | None) -> str:
    if gap is None:
        return "not measured"
    low, high = gap["interval"]["low"], gap["interval"]["high"]
    return f"{gap['value']:+.1%} ({low:+.1%} to {high:+.1%})"
