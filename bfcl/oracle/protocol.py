"""What the pipeline asks of an oracle, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, Protocol

from bfcl.canonical import Json
from bfcl.records.verdict import AssertionOutcome

TIMEOUTS: Final = ("tool_timeout_s", "assertion_timeout_s", "import_timeout_s", "reset_timeout_s", "episode_timeout_s")
"""Deadlines of an oracle in seconds, as `OracleSpec` and the configuration's `oracle_runtime` name them."""
STOPPED: Final = frozenset({name.removesuffix("_s") for name in TIMEOUTS} | {"worker_crashed"})
"""Codes of breakdowns that a busy machine may bring about: the same episode may end otherwise next time."""
INFRASTRUCTURE: Final = STOPPED | {"worker_message_too_large", "ambient_access"}
"""Codes of breakdowns that say what stopped an episode, whatever the pack was asked to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPath:
    """Where a dependent argument comes from: call number `call` of the episode, then keys and list indices."""

    call: int
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One call of an episode. `from_results` maps a parameter to where its value comes from."""

    tool: str
    arguments: Mapping[str, Json]
    turn_index: int = 0
    from_results: Mapping[str, ResultPath] = field(default_factory=dict)
    task_id: str | None = None
    """What this call's `ctx.task_id` says where it is not the episode's: probes of a chain keep their own names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What assertions are to judge in place of what calls would do; both canonical JSON text.

    `trace` is an array of `{"tool", "arguments", "result"}` in order, `state` an object.
    """

    trace: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Reset, calls in order, state, assertions: one process owns it from first to last.

    `observe` says when `get_state` is read: `final` once after the last call, `each` also after reset and after every
    call (probes), `session` before and after each call numbered in `watched`, and after a call that broke, whichever
    that is. In a session a state that cannot be read breaks nothing, and no assertion runs; `ending` is a session that
    goes on, once every call is answered, as with `final`. Assertions named in `assertions` run after the last call and
    see `task`. `also` lists further runs of calls: each follows in the same process from `reset` to assertions, for the
    price of its calls alone. What leaks through `reset` shows when the episode's own calls are repeated there. With
    `given` the backend is left alone, no call is made and no state is read: the assertions judge what is given, under
    their usual deadlines.
    `withheld` names fields that `task` lacks because nobody knows them: an assertion that asks for one is broken, and
    never takes its absence for a value.
    """

    task_id: str
    seed: int
    calls: tuple[PlannedCall, ...]
    assertions: tuple[str, ...] = ()
    task: Mapping[str, Json] | None = None
    observe: Literal["final", "each", "session", "ending"] = "final"
    watched: frozenset[int] = frozenset()
    also: tuple[tuple[PlannedCall, ...], ...] = ()
    given: Given | None = None
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """Why an episode stopped: infrastructure, never a domain refusal.

    `code` is one of `import_timeout reset_timeout tool_timeout assertion_timeout episode_timeout worker_crashed
    worker_message_too_large ambient_access tool_raised reset_raised state_raised non_object_result
    non_serializable_result state_not_serializable dependent_call_binding_failed`. `message` is free of absolute paths:
    pack files appear relative to the pack. `where` is `file:line` in the pack where known.
    """

    code: str
    message: str
    phase: Literal["import", "reset", "call", "state", "assertion"]
    call_index: int | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """What one episode produced. JSON is canonical text, taken at each call's return.

    `results` and `arguments` have one element per completed call (`arguments` after dependent values were filled in);
    `states` holds one element with `observe="final"`, with `each` the reset state plus one per completed call; empty
    where the episode broke before. With `session` two per completed call that is watched, and of the call that broke
    those that were still read; `null` stands for one that could not be. With `ending` the same, then as with `final`:
    a state that cannot be read breaks it only there. `assertions` follow the episode's order.
    `breakdown` is None for a whole episode.
    """

    results: tuple[str, ...]
    arguments: tuple[str, ...]
    states: tuple[str, ...]
    assertions: tuple[AssertionOutcome, ...]
    breakdown: Breakdown | None = None
    also: tuple[EpisodeResult, ...] = ()
    """The further runs of `Episode.also`, in order, up to the first that broke; none where the episode itself broke."""


class Replayed(NamedTuple):
    """The same episode in the two worlds of ruling 6; further runs are in one of them."""

    a: EpisodeResult
    b: EpisodeResult

    @property
    def alike(self) -> bool:
        """Whether the worlds agree on the episode's own run."""
        return self.a == self.b or replace(self.a, also=()) == replace(self.b, also=())

    @property
    def further(self) -> EpisodeResult:
        """The run that the further ones followed, with them."""
        return self.b if self.b.also else self.a


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionInfo:
    """An exported assertion as introspected in the worker."""

    name: str
    signature_problem: str | None
    """What the signature lacks, or None."""
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What importing the pack's modules showed. A breakdown means that module could not be imported."""

    backend_breakdown: Breakdown | None
    missing_callables: tuple[str, ...]
    """Of `list_tools reset call_tool get_state`: absent or not callable with their contract's arguments."""
    tools: tuple[str, ...] | None
    """`list_tools()` as answered; None where it broke (see `tools_breakdown`)."""
    tools_breakdown: Breakdown | None
    assertions_breakdown: Breakdown | None
    assertions: tuple[AssertionInfo, ...]


class Oracle(Protocol):
    """An executable oracle. Real implementations: `worker.LocalOracle`; the HTTPS endpoint comes with its chapter.

    Methods raise OracleError only when no episode can run at all (the pack does not import); a single episode's trouble
    is its `breakdown`.
    """

    def describe(self) -> Description:
        """Import the pack in a world and report what it exports."""
        ...

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """One result per episode, input order, each from just-imported state in world A."""
        ...

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        """Each episode in both worlds, world B in opposite order; results in input order.

        `also` is run in one of the two: see `Replayed.further`.
        """
        ...

    def suspects(self) -> tuple[str, ...]:
        """Lines of the pack that may leak ambient state, `file:line: what`, from a syntax scan."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleSpec:
    """Everything needed to start a pack's worlds; picklable, so a shard executor can ship it.

    Paths are absolute: `view` is the root of the oracle view (the pack tree without templates, cases, held-out file);
    `backend` and `assertions` are files inside it or declared outside. `fixtures` is canonical JSON handed to `reset`,
    or None where the pack has none.
    """

    view: str
    backend: str
    assertions: str
    fixtures: str | None
    clock: str
    tool_timeout_s: float
    assertion_timeout_s: float
    import_timeout_s: float
    reset_timeout_s: float
    episode_timeout_s: float
