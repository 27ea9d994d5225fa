"""How is one evaluation run and told, whichever command asks for it? Rule: evaluation.md §1, §17.11."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bfcl.evaluate.artifacts.names import REPORT
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.going_on import interrupted
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import Preflight, calls_line, estimate_line, payload_lines
from bfcl.evaluate.score.intervals import wilson
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.graph.eval_progress import EvalProgress
from bfcl.graph.eval_runtime import eval_runtime
from bfcl.graph.say import warn

_CAUSES_SHOWN: Final = 3


def run_envelope(envelope: Envelope, *, eval_run_id: str | None = None) -> list[str]:
    """Evaluate; returns the lines for standard output. What people watch meanwhile goes to standard error.

    Raises: as `load_settings` and `evaluate`; of an interrupt it is told first what is left.
    """
    settings = load_settings(envelope.eval_config_path)
    showing = EvalProgress([one.alias for one in settings.candidates])
    try:
        outcome = evaluate(envelope, settings, How(eval_run_id=eval_run_id, showing=showing, runtime=eval_runtime))
    except KeyboardInterrupt:
        warn(interrupted(settings, dry_run=envelope.dry_run))
        raise
    if isinstance(outcome, Preflight):
        showing.warn(outcome.warnings)
        warn(estimate_line(outcome.estimate))
    else:
        warn(calls_line(outcome.calls))
        report = json.loads(outcome.report_path.read_bytes()) if outcome.report_path.name == REPORT else {}
        endpoints = {one.alias: one.base_url for one in settings.candidates}
        for line in result_lines(report, endpoints, outcome.unanswered):
            warn(line)
    return payload_lines(outcome.payload(), envelope.output_format)


def result_lines(
    report: Mapping[str, Any], endpoints: Mapping[str, str], unanswered: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """What came out, a line for each candidate of the report, and what the run rather than a candidate stopped."""
    for entry in report.get("candidates", ()):
        alias, stopped = entry["alias"], entry["non_candidate_stops"]
        yield from rate_lines({"candidates": [entry]})
        if stopped:
            rejected = report["provider_rejections"].get(alias, {})
            causes = {f"HTTP {status}": str(count) for status, count in rejected.items()}
            last = unanswered.get(alias, {})
            for code, count in report["candidate_call_failures"].get(alias, {}).items():
                causes[code] = f"{count}{_lasts(last)}"
            told = ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items())) or "see failure_records"
            yield (
                f"warning: {stopped} tasks of {alias} were stopped by the run and count as failed: {told}\n"
                f"  fix: {_remedy(endpoints.get(alias, ''), last)}, then evaluate into "
                "another output_dir with `--resume-from` and this one: what was answered is not asked again"
            )


def rate_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """What came out, a line for each candidate of a report."""
    for entry in report.get("candidates", ()):
        alias, tasks, right = entry["alias"], entry["task_count"], entry["successful_tasks"]
        interval = wilson(right, tasks)
        if interval is not None:
            yield f"{alias}: {right} of {tasks} tasks, {right / tasks:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _lasts(causes: Mapping[str, int]) -> str:
    """What the last attempts of calls ended in, most frequent first."""
    ranked = sorted(causes.items(), key=lambda one: (-one[1], one[0]))
    shown = [f"{cause}, {count} times" if count > 1 else cause for cause, count in ranked[:_CAUSES_SHOWN]]
    more = len(ranked) - len(shown)
    return f" (at last: {'; '.join(shown)}{f'; {more} others' if more else ''})" if shown else ""


def _remedy(endpoint: str, causes: Mapping[str, int]) -> str:
    """A server that answers with an error of its own knows why; any other one may not be there."""
    if causes and all(cause.startswith("HTTP 5") for cause in causes):
        return f"look into the log of the server at {endpoint}, which answered that it cannot"
    return f"check endpoint {endpoint} and the model's name there"
