"""How does a previewed task read, line by line: who says what, which call is made, what comes back?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from bfcl.authoring.preview import Shown
from bfcl.canonical import Json, canonical_text

Who = Literal["user", "assistant", "call", "result", "guard", "passed", "failed", "dropped"]


class Line(NamedTuple):
    """One line of a conversation: who speaks (or what it is), and the text."""

    who: Who
    text: str


def conversation(shown: Shown) -> Iterator[Line]:
    """The turns in order, each batch of calls with its results where it stands, then guards and outcome."""
    surface = shown.surface
    if surface is None:
        yield from _calls(shown, None)
    else:
        for turn in surface.turns:
            if turn.kind == "calls":
                yield from _calls(shown, turn.call_group)
            else:
                yield Line("user" if turn.kind == "user" else "assistant", turn.content or "")
        for broken in surface.guard_violations:
            yield Line("guard", f"{broken.guard}: {broken.key} `{broken.value}`")
    yield from _outcome(shown)


def _calls(shown: Shown, group: int | None) -> Iterator[Line]:
    """The calls of one batch; of all where `group` is None."""
    calls = () if shown.trace is None else shown.trace.calls
    results = () if shown.replay is None else shown.replay.tool_results
    for number, call in enumerate(calls):
        if group is None or call.call_group == group:
            yield Line("call", call_text(call.function_name, call.arguments))
            if number < len(results):
                yield Line("result", canonical_text(results[number].result))


def call_text(tool: str, arguments: Mapping[str, Json]) -> str:
    """`tool(name="value", ...)`: arguments in the order given, values as JSON."""
    return f"{tool}({', '.join(f'{name}={canonical_text(value)}' for name, value in arguments.items())})"


def _outcome(shown: Shown) -> Iterator[Line]:
    trace, verdict = shown.trace, shown.replay
    if trace is not None and trace.drop_reason is not None:
        yield Line("dropped", trace.drop_reason)
    if verdict is None:
        return
    for outcome in verdict.assertions:
        detail = "" if outcome.detail is None else f": {outcome.detail}"
        status = "" if outcome.status in ("passed", "failed") else f" {outcome.status}"
        yield Line("passed" if outcome.passed else "failed", f"{outcome.name}{status}{detail}")
    told = verdict.reason == "assertion_failed" or (trace is not None and trace.drop_reason is not None)
    if verdict.reason is not None and not told:
        yield Line("failed", verdict.reason if verdict.detail is None else f"{verdict.reason}: {verdict.detail}")
