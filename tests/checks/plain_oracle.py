"""An oracle without workers: the pack's code runs in this process, fresh for every episode; it isolates nothing.

World B differs from world A in the module name the pack's code sees (`__name__`), so a pack can be made to leak it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bfcl.canonical import canonical_text
from bfcl.errors import OracleError, Problem
from bfcl.oracle.protocol import AssertionInfo, Breakdown, Description, Episode, EpisodeResult, PlannedCall, Replayed
from bfcl.pack.held_out import reset_fixtures
from bfcl.pack.model import Pack
from bfcl.records.verdict import AssertionOutcome

_CALLABLES = ("list_tools", "reset", "call_tool", "get_state")


class PlainOracle:
    """Implements `bfcl.oracle.protocol.Oracle`. `requests` counts calls of `run` and `replay`."""

    def __init__(self, pack: Pack, clock: str) -> None:
        self._fixtures = canonical_text(reset_fixtures(pack)) if pack.has_fixtures else None
        self._clock = clock
        self._code = {role: _compiled(pack.files[role].path) for role in ("backend", "assertions")}  # type: ignore[index]
        self.requests = 0

    def describe(self) -> Description:
        backend, backend_breakdown = self._imported("backend", "a")
        assertions, assertions_breakdown = self._imported("assertions", "a")
        missing = tuple(name for name in _CALLABLES if backend and not callable(backend.get(name)))
        tools, tools_breakdown = None, None
        if backend and "list_tools" not in missing:
            try:
                tools = tuple(backend["list_tools"]())
            except Exception as error:  # noqa: BLE001
                tools_breakdown = _breakdown("tool_raised", error, "call")
        exported = [
            name for name, value in (assertions or {}).items() if name.startswith("assert_") and callable(value)
        ]
        return Description(
            backend_breakdown=backend_breakdown,
            missing_callables=missing,
            tools=tools,
            tools_breakdown=tools_breakdown,
            assertions_breakdown=assertions_breakdown,
            assertions=tuple(_info(name, (assertions or {})[name]) for name in exported),
        )

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        self.requests += 1
        return [self._play(episode, "a") for episode in episodes]

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        self.requests += 1
        plain = [dataclasses.replace(episode, also=()) for episode in episodes]
        return [
            Replayed(self._play(each, "a"), self._play(other, "b")) for each, other in zip(episodes, plain, strict=True)
        ]

    def suspects(self) -> tuple[str, ...]:
        return ("backend.py:1: a suspect line",)

    def _imported(self, role: str, world: str) -> tuple[dict[str, Any] | None, Breakdown | None]:
        code = self._code[role]
        if isinstance(code, SyntaxError):
            return None, Breakdown(
                code="import_failed",
                message=f"SyntaxError: {code.msg}",
                phase="import",
                where=f"{role}.py:{code.lineno}",
            )
        names: dict[str, Any] = {"__name__": f"{role}_{world}"}
        try:
            exec(code, names)
        except Exception as error:  # noqa: BLE001
            return None, _breakdown("import_failed", error, "import")
        return names, None

    def _play(self, episode: Episode, world: str) -> EpisodeResult:
        backend, broken = self._imported("backend", world)
        if backend is None:
            raise OracleError(Problem(code="backend_import_failed", message=str(broken)))
        runs: list[EpisodeResult] = []
        for calls in (episode.calls, *episode.also):
            if not runs or runs[-1].breakdown is None:
                runs.append(self._played(dataclasses.replace(episode, calls=calls, also=()), world, backend))
        return dataclasses.replace(runs[0], also=tuple(runs[1:]))

    def _played(self, episode: Episode, world: str, backend: dict[str, Any]) -> EpisodeResult:
        played = _Playing(backend, episode, self._clock)
        played.reset(None if self._fixtures is None else json.loads(self._fixtures))
        for index, call in enumerate(episode.calls):
            played.call(index, call)
        if episode.observe == "final":
            played.read_state()
        assertions, _ = self._imported("assertions", world)
        for name in episode.assertions:
            played.judge(name, (assertions or {}).get(name))
        return played.result()


class _Playing:
    def __init__(self, backend: dict[str, Any], episode: Episode, clock: str) -> None:
        self._backend, self._episode, self._clock = backend, episode, clock
        self._trace: list[dict[str, Any]] = []
        self._states: list[str] = []
        self._outcomes: list[AssertionOutcome] = []
        self._broken: Breakdown | None = None

    def reset(self, fixtures: Any) -> None:
        try:
            self._backend["reset"](ctx=self._context(0), fixtures=fixtures)
        except Exception as error:  # noqa: BLE001
            self._broken = _breakdown("reset_raised", error, "reset")
            return
        if self._episode.observe == "each":
            self.read_state()

    def call(self, index: int, call: PlannedCall) -> None:
        if self._broken is not None:
            return
        arguments = json.loads(canonical_text(call.arguments))
        for name, source in call.from_results.items():
            value: Any = self._trace[source.call]["result"]
            try:
                for step in source.path:
                    value = value[step]
            except (KeyError, IndexError, TypeError) as error:
                self._broken = _breakdown("dependent_call_binding_failed", error, "call", index)
                return
            arguments[name] = value
        try:
            answer = self._backend["call_tool"](call.tool, arguments, ctx=self._context(call.turn_index, call.task_id))
        except Exception as error:  # noqa: BLE001
            self._broken = _breakdown("tool_raised", error, "call", index)
            return
        if not isinstance(answer, dict):
            message = f"`{call.tool}` answered {type(answer).__name__}, expected an object"
            self._broken = Breakdown(code="non_object_result", message=message, phase="call", call_index=index)
            return
        self._trace.append({"tool": call.tool, "arguments": arguments, "result": json.loads(canonical_text(answer))})
        if self._episode.observe == "each":
            self.read_state()

    def read_state(self) -> None:
        if self._broken is not None:
            return
        try:
            self._states.append(canonical_text(self._backend["get_state"]()))
        except Exception as error:  # noqa: BLE001
            self._broken = _breakdown("state_raised", error, "state")

    def judge(self, name: str, assertion: Any) -> None:
        if self._broken is not None:
            return
        view = json.loads(canonical_text({"state": json.loads(self._states[-1]), "task": self._episode.task}))
        try:
            said = assertion(**view, trace=json.loads(canonical_text(self._trace)), ctx=self._context(0))
        except AssertionError as error:
            self._outcomes.append(AssertionOutcome(name=name, status="failed", detail=str(error) or None))
        except Exception as error:  # noqa: BLE001
            detail = f"{type(error).__name__}: {error}"
            self._outcomes.append(AssertionOutcome(name=name, status="error", detail=detail))
        else:
            status = "passed" if said is None else "not_applicable"
            self._outcomes.append(
                AssertionOutcome(name=name, status=status, detail=None if said is None else said.get("detail"))  # type: ignore[arg-type]
            )

    def result(self) -> EpisodeResult:
        return EpisodeResult(
            results=tuple(canonical_text(call["result"]) for call in self._trace),
            arguments=tuple(canonical_text(call["arguments"]) for call in self._trace),
            states=tuple(self._states),
            assertions=tuple(self._outcomes),
            breakdown=self._broken,
        )

    def _context(self, turn_index: int, task_id: str | None = None) -> Any:
        episode = self._episode
        return SimpleNamespace(
            clock=self._clock,
            seed=episode.seed,
            timeout_s=5.0,
            task_id=task_id or episode.task_id,
            turn_index=turn_index,
        )


def _compiled(path: Path) -> Any:
    try:
        return compile(path.read_bytes(), path.name, "exec")
    except SyntaxError as error:
        return error


def _info(name: str, entry: Any) -> AssertionInfo:
    signature = inspect.signature(entry)
    lacking = [f"`{one}`" for one in ("state", "trace", "task", "ctx") if one not in signature.parameters]
    problem = f"does not accept {', '.join(lacking)}" if lacking else None
    return AssertionInfo(name=name, signature_problem=problem, line=entry.__code__.co_firstlineno)


def _breakdown(code: str, error: Exception, phase: Any, call_index: int | None = None) -> Breakdown:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename in ("backend.py", "assertions.py")
    ]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
    message = f"{type(error).__name__}: {error}"
    return Breakdown(code=code, message=message, phase=phase, call_index=call_index, where=where)
