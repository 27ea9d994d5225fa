"""How does a person read failed tasks? One Markdown file a candidate. Rule: evaluation.md §16.3.

What models and packs wrote is shown in code, never as markup: no text of theirs can change the page around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.errors import visible
from bfcl.evaluate.after.call_diff import CallDiff
from bfcl.evaluate.after.failures import Failure, Message

_LONGEST: Final = 2_000
_RUNS: Final = re.compile(r"`+")


def failures_page(alias: str, failures: Sequence[Failure], *, tasks: int, trials: int) -> str:
    """The page of one candidate: what failed how often, then every failed task. `trials` are planned of each task;
    the failures are those of the first."""
    trial = f" in the first of {trials} trials, the only one that this page tells of" if trials > 1 else ""
    lines = [f"# Failed tasks of {code(alias)}", "", f"{len(failures)} of {tasks} tasks failed{trial}.", ""]
    lines += _summary(failures)
    for failure in failures:
        lines += _task(failure)
    return "\n".join(lines).rstrip("\n") + "\n"


def _summary(failures: Sequence[Failure]) -> list[str]:
    if not failures:
        return []
    lines = ["| first failing gate | answerable | near miss | tasks |", "|---|---|---|---:|"]
    counted = Counter((_gate(failure), failure.answerable, failure.near_miss or "") for failure in failures)
    for (gate, answerable, tag), count in sorted(counted.items(), key=lambda one: (-one[1], one[0])):
        lines.append(f"| {gate} | {answerable} | {tag} | {count} |")
    lines += ["", "| what went wrong first | tasks |", "|---|---:|"]
    first = Counter(failure.went_wrong.what for failure in failures)
    lines += [f"| {what} | {count} |" for what, count in sorted(first.items(), key=lambda one: (-one[1], one[0]))]
    return [*lines, ""]


def _gate(failure: Failure) -> str:
    return "assertions" if failure.gate is None else failure.gate.name


def _task(failure: Failure) -> Iterator[str]:
    episode, turn = failure.episode, failure.turn
    reason = "" if failure.gate is None else f" ({failure.gate.reason_code})"
    yield f"## {code(episode.evidence.task_id)}"
    yield ""
    yield f"- went wrong first: {failure.went_wrong}"
    yield f"- first failing gate: {_gate(failure)}{reason}"
    if failure.went_wrong.remark is not None:
        yield f"- {failure.went_wrong.remark}"
    yield f"- answerable: {failure.answerable}; the episode ended as {episode.evidence.status}"
    if failure.near_miss is not None:
        yield f"- near miss: {failure.near_miss}"
    if turn is not None:
        yield f"- shown below: assistant turn {turn.turn_index + 1}; the call ended as {turn.call_status}"
    if failure.last_attempt is not None:
        yield f"- the endpoint: {code(failure.last_attempt)}"
    if episode.evidence.detail:
        yield f"- {code(episode.evidence.detail)}"
    yield ""
    conversation = failure.conversation
    if conversation:
        yield "Conversation so far:"
        yield ""
        yield from _fenced("\n".join(map(_said, conversation)))
    yield from _expected(failure)
    for call in failure.calls:
        yield from _call(call)
    yield from _executions(failure)
    yield from _assertions(failure)
    yield from _state(failure)


def _said(message: Message) -> str:
    calls = message.get("tool_calls")
    made = [] if not isinstance(calls, list | tuple) else [_wire(call) for call in calls]
    content = message.get("content")
    text = content if isinstance(content, str) else ("" if content is None else canonical_text(content))
    return f"{message.get('role')}: " + "\n  ".join([*([_cut(text)] if text or not made else []), *made])


def _wire(call: Json) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return _cut(canonical_text(call))
    return f"-> {function.get('name')} {_cut(str(function.get('arguments', '')))}"


def _expected(failure: Failure) -> Iterator[str]:
    turn = failure.turn
    if turn is None:
        yield "No turn was asked."
        yield ""
        return
    if not turn.gold:
        yield "Expected: words, such as"
        yield ""
        yield from _fenced(_cut(failure.expected_text or ""))
    content = None if turn.response is None else turn.response.assistant_content
    if content is not None and (not turn.gold or not turn.response or not turn.response.tool_calls):
        yield "Actual words:"
        yield ""
        yield from _fenced(_cut(content if isinstance(content, str) else canonical_text(content)))


def _call(call: CallDiff) -> Iterator[str]:
    mark = "fits" if call.fits else "does not fit"
    if call.actual_tool is None:
        yield f"Call {code(str(call.expected_tool))} was expected and not made."
    elif call.expected_tool is None:
        yield f"Call {code(call.actual_tool)} was made and not expected."
    else:
        yield f"Call {code(call.actual_tool)} {mark}."
    if call.schema_reasons:
        yield ""
        yield f"Not well formed: {', '.join(call.schema_reasons)}."
    if call.unreadable is not None:
        yield ""
        yield f"Arguments as sent: {code(canonical_text(call.unreadable))}"
    yield ""
    if call.arguments and not call.fits:
        yield "| argument | expected | actual | |"
        yield "|---|---|---|---|"
        for one in call.arguments:
            expected, actual = (code(canonical_text(side[0])) if side else "" for side in (one.expected, one.actual))
            yield f"| {code(one.name)} | {expected} | {actual} | {'' if one.verdict == 'fits' else one.verdict} |"
        yield ""


def _executions(failure: Failure) -> Iterator[str]:
    broken = [
        one
        for one in (() if failure.turn is None else failure.turn.executions)
        if one.status not in ("completed", "business_rejection")
    ]
    for one in broken:
        told = "" if one.detail is None else f": {code(one.detail)}"
        yield f"- {code(one.tool)} ended as {one.reason or one.status}{told}"
    if broken:
        yield ""


def _assertions(failure: Failure) -> Iterator[str]:
    for one in failure.assertions:
        told = "" if one.detail is None else f": {code(one.detail)}"
        yield f"- assertion {code(one.name)} ({one.category}) {one.verdict}{told}"
    if failure.assertions:
        yield ""


def _state(failure: Failure) -> Iterator[str]:
    state = failure.state
    if state is None:
        return
    yield f"Final state, held against {code(state.reference)}: {state.count} differences."
    yield ""
    if state.differences:
        yield "| path | expected | actual |"
        yield "|---|---|---|"
        for one in state.differences:
            yield f"| {code(one.path or '(all)')} | {code(one.left)} | {code(one.right)} |"
        yield ""


def code(text: str) -> str:
    """Text of others on one line, in a table's cell or out of it: as code, whatever it holds."""
    shown = visible(_cut(text)).replace("\r", " ").replace("\n", "\\n").replace("|", "\\|")
    ticks = "`" * (1 + max((len(run) for run in _RUNS.findall(shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def _fenced(text: str) -> Iterator[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in _RUNS.findall(text)), default=0))
    yield f"{fence}text"
    yield from visible(text).split("\n")
    yield fence
    yield ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
