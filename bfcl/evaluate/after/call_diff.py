"""What was called, argument by argument, and what should have been? Rule: evaluation.md §16.3.

Which arguments depart is the comparison's verdict as it stands in the evidence; nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bfcl.canonical import Json
from bfcl.evaluate.records import CallMatch, GoldCall, TurnEvidence
from bfcl.modelio.exchange import ToolCall

Verdict = Literal["fits", "missing", "unexpected", "differs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentDiff:
    """One argument on both sides. A side that does not state it has `absent`."""

    name: str
    verdict: Verdict
    """`fits` also where the sides differ but comparison leaves the argument free."""
    expected: tuple[Json, ...]
    """The value, or nothing where the expected call does not state it."""
    actual: tuple[Json, ...]

    def to_json(self) -> dict[str, Json]:
        """A side that does not state the argument has no key."""
        told: dict[str, Json] = {"name": self.name, "verdict": self.verdict}
        if self.expected:
            told["expected"] = self.expected[0]
        if self.actual:
            told["actual"] = self.actual[0]
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDiff:
    """An expected call with the one that was paired with it, or one of the two alone."""

    expected_tool: str | None
    actual_tool: str | None
    arguments: tuple[ArgumentDiff, ...]
    schema_reasons: tuple[str, ...]
    """Why the call that was made is not well formed."""
    unreadable: Json
    """The arguments as sent, where they are no object; else null."""

    @property
    def fits(self) -> bool:
        """Whether nothing is wrong with it."""
        paired = self.expected_tool is not None and self.actual_tool is not None
        sound = not self.schema_reasons and all(one.verdict == "fits" for one in self.arguments)
        return paired and sound

    def to_json(self) -> dict[str, Json]:
        return {
            "expected_tool": self.expected_tool,
            "actual_tool": self.actual_tool,
            "fits": self.fits,
            "arguments": [one.to_json() for one in self.arguments],
            "schema_reasons": list(self.schema_reasons),
            "unreadable_arguments": self.unreadable,
        }


def call_diffs(turn: TurnEvidence) -> tuple[CallDiff, ...]:
    """Expected calls in their order, each with its call; then calls that nobody expected, in the reply's order."""
    return tuple(_diffs(turn))


def _diffs(turn: TurnEvidence) -> Iterator[CallDiff]:
    calls = () if turn.response is None else turn.response.tool_calls
    made = {match.gold_index: (match, call) for match, call in zip(turn.matches, calls, strict=True)}
    for gold in turn.gold:
        match, call = made.get(gold.index, (None, None))
        if match is None or call is None:
            yield CallDiff(
                expected_tool=gold.tool,
                actual_tool=None,
                arguments=tuple(
                    ArgumentDiff(name=name, verdict="missing", expected=(value,), actual=())
                    for name, value in gold.arguments.items()
                ),
                schema_reasons=(),
                unreadable=None,
            )
        else:
            yield _paired(gold, match, call)
    for match, call in zip(turn.matches, calls, strict=True):
        if match.gold_index is None:
            yield CallDiff(
                expected_tool=None,
                actual_tool=call.function_name,
                arguments=tuple(
                    ArgumentDiff(name=name, verdict="unexpected", expected=(), actual=(value,))
                    for name, value in (call.parsed_arguments or {}).items()
                ),
                schema_reasons=match.schema_reasons,
                unreadable=_unreadable(call),
            )


def _paired(gold: GoldCall, match: CallMatch, call: ToolCall) -> CallDiff:
    stated = call.parsed_arguments or {}
    departs: dict[str, Verdict] = {
        # What is no object was not compared: nothing of it is there.
        **(dict.fromkeys(gold.arguments, "missing") if call.parsed_arguments is None else {}),
        **dict.fromkeys(match.missing, "missing"),
        **dict.fromkeys(match.unexpected, "unexpected"),
        **dict.fromkeys(match.differing, "differs"),
    }
    return CallDiff(
        expected_tool=gold.tool,
        actual_tool=call.function_name,
        arguments=tuple(
            ArgumentDiff(
                name=name,
                verdict=departs.get(name, "fits"),
                expected=(gold.arguments[name],) if name in gold.arguments else (),
                actual=(stated[name],) if name in stated else (),
            )
            # Defaults that were filled in before comparing stand on neither side, and may yet depart.
            for name in dict.fromkeys([*gold.arguments, *stated, *departs])
        ),
        schema_reasons=match.schema_reasons,
        unreadable=_unreadable(call),
    )


def _unreadable(call: ToolCall) -> Json:
    return call.raw_arguments if call.parsed_arguments is None else None
