"""What happens inside one episode's process: reset, calls, state, assertions, each noted as it ends.

Runs beside pack code in a fork of its world: standard library only. Values are serialised when they are returned, so
an object the pack keeps changing cannot rewrite an earlier answer. Rule: pack.md §6, §7, §9.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from bfcl.oracle import deadlines, wire
from bfcl.oracle.ambient import Guard
from bfcl.oracle.copies import Leaves, copied, fresh
from bfcl.oracle.deadlines import Limits
from bfcl.oracle.exact import NotJson, decode, exact_json, exact_pair
from bfcl.oracle.packcode import Locator
from bfcl.oracle.parts import Alone, Part, Told, parts_of, record_of
from bfcl.oracle.recall import Recall
from bfcl.oracle.result_path import pick
from bfcl.oracle.scratch import ASSERTION, CALL, NO_INDEX, PHASES, RESET, RUN_SPAN, STATE, Scratch, TooLarge
from bfcl.oracle.withheld import Withheld


class RunContext:
    """The `ctx` of the pack contract: read-only attributes."""

    __slots__ = ("clock", "seed", "task_id", "timeout_s", "turn_index")
    clock: str
    seed: int
    task_id: str
    timeout_s: float
    turn_index: int

    def __init__(self, clock: str, seed: int, task_id: str, timeout_s: float, turn_index: int) -> None:
        fill = object.__setattr__
        fill(self, "clock", clock)
        fill(self, "seed", seed)
        fill(self, "task_id", task_id)
        fill(self, "timeout_s", timeout_s)
        fill(self, "turn_index", turn_index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ctx is read-only: cannot set `{name}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"ctx is read-only: cannot delete `{name}`")


_threads = _thread._count
"""Threads beside this one."""


class Broken(Exception):
    """The episode cannot go on; carries the breakdown."""

    def __init__(self, breakdown: Mapping[str, Any]) -> None:
        super().__init__(breakdown)
        self.breakdown = breakdown


class Stage:
    """What a world prepares once for every episode."""

    def __init__(
        self, *, scratch: Scratch, limits: Limits, guard: Guard, locator: Locator, clock: str, fixtures: str | None
    ) -> None:
        self.scratch, self.limits, self.guard, self.locator = scratch, limits, guard, locator
        self.clock = clock
        plain = None if fixtures is None else decode(fixtures)
        self._fixtures = copied(Leaves(plain).sharing(plain))
        del plain  # what an episode reads then lies close together, in the place that this leaves
        self.fixtures = self.more_fixtures()
        """Made once: each fork owns a private copy."""
        self.recall = Recall(Leaves(self.fixtures))
        self.backend: ModuleType | None = None
        self.assertions: Mapping[str, Callable[..., Any]] = {}
        self.assertions_problem: str | None = None
        """Why there are none, where their module could not be imported."""

    def more_fixtures(self) -> Any:
        """Fixtures that nobody has touched, as those of a process that has just been forked."""
        return fresh(self._fixtures)


def perform(stage: Stage, request: Mapping[str, Any]) -> None:
    """Run an episode to its end or its breakdown, leaving the answer in the scratch memory."""
    fixtures = stage.fixtures
    for number, calls in enumerate([request["calls"], *request["also"]]):
        if number:
            stage.scratch.append(wire.ALSO, b"")
            fixtures = stage.more_fixtures()
        if not _run(stage, {**request, "calls": calls}, number, fixtures):
            break
    stage.scratch.finish()


def _run(stage: Stage, request: Mapping[str, Any], number: int, fixtures: Any) -> bool:
    run = _Run(stage, request, number)
    try:
        run.play(fixtures)
    except Broken as broken:
        stage.scratch.append(wire.BREAKDOWN, exact_json(broken.breakdown))
        run.look_back(broken.breakdown)
        return False
    return True


class _Run:
    """One run of an episode from reset to assertions; `number` 0 is the episode's own, others are further ones."""

    def __init__(self, stage: Stage, request: Mapping[str, Any], number: int) -> None:
        self._stage, self._request = stage, request
        self._backend: Any = stage.backend
        self._results: list[bytes] = []
        self._trace: list[str] = []
        self._state: Told | Alone | None = None
        """The last state read."""
        self._newest: tuple[list[Any], int] | None = None
        """What tells the state that the answer told last from others, and how long its text is."""
        self._noted = number * RUN_SPAN

    def play(self, fixtures: Any) -> None:
        stage, request = self._stage, self._request
        if request["given"] is not None:
            trace, state = request["given"]
            self._state = Alone(decode(state))
            self._judge(request["assertions"], decode(trace))
            return
        context = self._context(stage.limits.reset, 0)
        self._guarded(RESET, NO_INDEX, "reset_raised", lambda: self._backend.reset(ctx=context, fixtures=fixtures))
        observe, watched = request["observe"], request.get("watched", ())
        if observe == "each":
            self._read_state(NO_INDEX)
        for index, (tool, turn, arguments, sources, task_id) in enumerate(request["calls"]):
            context = self._context(stage.limits.tool, turn, task_id)
            if index in watched:
                self._glance(index)
            self._call(index, tool, self._bound(index, arguments, sources) if sources else arguments, context)
            if observe == "each":
                self._read_state(index)
            elif index in watched:
                self._glance(index)
        if observe == "session":
            return
        if observe != "each":
            self._read_state(len(request["calls"]) - 1)
        if request["assertions"]:
            self._judge(request["assertions"], decode(f"[{','.join(self._trace)}]"))

    def look_back(self, breakdown: Mapping[str, Any]) -> None:
        """Of a session, what state the call that broke it left behind."""
        if self._request["observe"] not in ("session", "ending") or breakdown["phase"] != PHASES[CALL]:
            return
        try:
            self._glance(breakdown["call_index"])
        except Broken:
            return  # no room is left in the answer; what broke first is told already

    def _context(self, timeout_s: float, turn: int, task_id: str | None = None) -> RunContext:
        named = self._request["task_id"] if task_id is None else task_id
        return RunContext(self._stage.clock, self._request["seed"], named, timeout_s, turn)

    def _guarded(self, phase: int, index: int, code: str, act: Callable[[], Any]) -> Any:
        """What pack code returned. Raises Broken where it raised, or reached outside its episode."""
        stage = self._stage
        stage.scratch.enter(phase, index + self._noted)
        try:
            value = act()
        except BaseException as error:  # noqa: BLE001 - pack code may raise anything, SystemExit included
            self._check_ambient(phase, index)
            raise self._broken(code, stage.locator.told(error), phase, index, stage.locator.of_error(error)) from None
        self._check_ambient(phase, index)
        return value

    def _check_ambient(self, phase: int, index: int) -> None:
        if self._stage.guard.violations:
            what, where = self._stage.guard.violations[0]
            message = f"{deadlines.subject(phase, index, self._request)} {self._stage.locator.scrub(what)}"
            raise self._broken("ambient_access", message, phase, index, where) from None

    def _broken(self, code: str, message: str, phase: int, index: int, where: str | None = None) -> Broken:
        call_index = index if phase in (CALL, STATE) and index != NO_INDEX else None
        return Broken(deadlines.breakdown(code, message, phase, call_index=call_index, where=where))

    def _append(self, kind: bytes, data: bytes, phase: int, index: int, size: int | None = None) -> None:
        """Add a record to the answer; `size` is that of what it stands for."""
        try:
            self._stage.scratch.append(kind, data, size)
        except TooLarge:
            self._stage.scratch.teach(b"")
            message = f"the answer grew past {wire.MESSAGE_LIMIT} bytes"
            what = deadlines.subject(phase, index, self._request)
            raise self._broken("worker_message_too_large", f"{message} in {what}", phase, index) from None

    def _call(self, index: int, tool: str, arguments: str, context: RunContext) -> None:
        given = decode(arguments)
        result = self._guarded(CALL, index, "tool_raised", lambda: self._backend.call_tool(tool, given, ctx=context))
        what = f"call {index} `{tool}`"
        if not isinstance(result, dict):
            message = f"{what} returned {type(result).__name__}, expected a JSON object"
            raise self._broken("non_object_result", message, CALL, index)
        try:
            text = exact_json(result)
        except NotJson as defect:
            raise self._broken("non_serializable_result", f"{what}: {defect}", CALL, index) from None
        self._check_ambient(CALL, index)
        self._append(wire.RESULT, text, CALL, index)
        self._results.append(text)
        if self._request["assertions"]:
            shown = exact_json(tool).decode()
            self._trace.append(f'{{"arguments":{arguments},"result":{text.decode()},"tool":{shown}}}')

    def _ask_state(self) -> Any:
        return self._backend.get_state()  # looked up late: a missing one is the pack's fault, told as such

    def _read_state(self, index: int) -> None:
        state = self._guarded(STATE, index, "state_raised", self._ask_state)
        if not isinstance(state, dict):
            message = f"get_state returned {type(state).__name__}, expected a JSON object"
            raise self._broken("state_not_serializable", message, STATE, index)
        kind, record, size = self._written(state, index)
        self._check_ambient(STATE, index)
        self._append(kind, record, STATE, index, size)

    def _glance(self, index: int) -> None:
        """Read the state as far as there is any reading it: `null` stands for one that cannot be read."""
        try:
            self._read_state(index)
        except Broken:
            # Nothing is learned of it: a number would come to stand for a state that was never told.
            self._stage.scratch.teach(b"")
            self._newest = None
            self._append(wire.STATE, b"null", STATE, index)

    def _written(self, state: Any, index: int) -> tuple[bytes, bytes, int]:
        """The record of a state: its parts as far as it has any, else its text; and how long the text is."""
        scratch, recall = self._stage.scratch, self._stage.recall
        alone = _threads() == 0
        parts = parts_of(state, recall)
        told = None if parts is None else [(part.name, part.known or part.key) for part in parts]
        if self._newest is not None and told == self._newest[0]:
            return wire.SAME_STATE, b"", self._newest[1]
        # What was found out of an earlier state must not come to stand for this one, whatever becomes of it here.
        scratch.teach(b"")
        self._newest = None
        if parts is None or told is None or not _write(parts, state, recall):
            try:
                text, plain = exact_pair(state)
            except NotJson as defect:
                raise self._broken("state_not_serializable", f"get_state: {defect}", STATE, index) from None
            self._state = Alone(plain)
            return wire.STATE, text, len(text)
        # A thread of the pack may have changed a part after its key was made: that must not stand for this text.
        alone = alone and _threads() == 0
        lessons = [part.lesson for part in parts if part.known is None] if alone else []
        scratch.teach(b"".join(wire.record(wire.NEW_PART, lesson) for lesson in lessons) if any(lessons) else b"")
        record, size = record_of(parts)
        self._state, self._newest = Told(parts), (told, size) if alone else None
        return wire.STATE_PARTS, record, size

    def _bound(self, index: int, arguments: str, sources: Mapping[str, Sequence[Any]]) -> str:
        """The arguments with values of earlier results filled in, as canonical text, which is recorded."""
        filled = decode(arguments)
        answers = [decode(result.decode()) for result in self._results]
        for parameter, (producer, path) in sources.items():
            filled[parameter], miss, why = pick(answers, producer, path)
            if miss is not None:
                tool = self._request["calls"][index][0]
                message = f"{miss}: call {index} `{tool}` parameter `{parameter}`: {why}"
                raise self._broken("dependent_call_binding_failed", message, CALL, index)
        data = exact_json(filled)
        self._append(wire.ARGUMENTS, data, CALL, index)
        return data.decode()

    def _judge(self, names: Sequence[str], trace: Any) -> None:
        """Ask every assertion: what one changes in the values it is given no other sees."""
        task = self._request["task"]
        rest = copied((trace, None if task is None else decode(task)))
        unknown = self._request.get("withheld", ())
        context = self._context(self._stage.limits.assertion, 0)
        for index, name in enumerate(names):
            state = None if self._state is None else self._state.take()
            self._stage.scratch.enter(ASSERTION, index + self._noted)
            status, detail = self._outcome(name, state, (rest, unknown), context)
            self._check_ambient(ASSERTION, index)
            self._append(wire.ASSERTION, exact_json([name, status, detail]), ASSERTION, index)

    def _outcome(
        self, name: str, state: Any, rest: tuple[bytes, Sequence[str]], context: RunContext
    ) -> tuple[str, str | None]:
        """The verdict on an assertion. `rest` is what `fresh` makes trace and task of, and what the task withholds."""
        assertion = self._stage.assertions.get(name)
        if assertion is None:
            return "error", self._stage.assertions_problem or f"`{name}` is not an exported assertion"
        trace, task = fresh(rest[0])
        if not rest[1]:
            return self._told(assertion, state, trace, task, context)
        guarded = Withheld(task, rest[1])
        told = self._told(assertion, state, trace, guarded, context)
        # Whatever it made of the refusal: its verdict rests on what nobody knows.
        return ("error", guarded.refused[0]) if guarded.refused else told

    def _told(
        self, assertion: Callable[..., Any], state: Any, trace: Any, task: Any, context: RunContext
    ) -> tuple[str, str | None]:
        locator = self._stage.locator
        try:
            answer = assertion(state=state, trace=trace, task=task, ctx=context)
        except AssertionError as failed:
            where = locator.of_error(failed)
            told = locator.scrub(_text_of(failed))
            return "failed", told or (f"assert at {where}" if where else None)
        except BaseException as error:  # noqa: BLE001 - pack code may raise anything, SystemExit included
            where = locator.of_error(error)
            return "error", f"{where}: {locator.told(error)}" if where else locator.told(error)
        return _verdict(answer)


def _write(parts: Sequence[Part], state: Mapping[str, Any], recall: Recall) -> bool:
    """Make the texts that are not known; False where one is not JSON, which is then told of the whole state."""
    try:
        for part in parts:
            if part.known is None:
                part.write(state if part.name is None else state[part.name], recall)
    except NotJson:
        return False
    return True


def _text_of(error: AssertionError) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - the argument of an assert may break in its own __str__
        return "(its text cannot be read)"


def _verdict(answer: Any) -> tuple[str, str | None]:
    if answer is None:
        return "passed", None
    if isinstance(answer, dict) and answer.get("status") == "not_applicable":
        detail = answer.get("detail")
        if set(answer) <= {"status", "detail"} and ("detail" not in answer or isinstance(detail, str)):
            return "not_applicable", detail
    shown = repr(answer) if isinstance(answer, (bool, int, float)) else f"a {type(answer).__name__}"
    return "error", f"returned {shown}, expected None or a not_applicable object"
