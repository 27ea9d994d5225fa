"""How does a candidate fare on one script, turn by turn, until it ends? Rule: evaluation.md §6.

The driver decides what counts as advancing and writes down what happened; where results come from (`Results`) and what
a reply leads to (`Continuation`) are two objects that it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.compare.order import ordered
from bfcl.evaluate.compare.words import in_words, spoken
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.continuation import Continuation, continuation_of
from bfcl.evaluate.drive.conversation import Conversation, given_back
from bfcl.evaluate.drive.results import Released, Results, usable_call_ids
from bfcl.evaluate.records import (
    EpisodeEvidence,
    EpisodeStatus,
    GoldCall,
    Resolution,
    Script,
    ScriptTurn,
    TurnEvidence,
)
from bfcl.evaluate.settings.model import Limits, Scoring
from bfcl.modelio.exchange import ChatOutcome, ChatResponse


async def drive(script: Script, asking: Asking, results: Results, scoring: Scoring, limits: Limits) -> EpisodeEvidence:
    """Play one script against one candidate.

    However the episode goes, it is evidence; what is raised ends the run: EvalError of a leaked answer key, a refused
    credential or a broken session.
    """
    rules = _Rules(script=script, kernel=Kernel(scoring, script.tools), scoring=scoring, limits=limits)
    episode = _Episode(rules, asking, results)
    status = await results.open(script)
    while status is None:
        status = await episode.turn()
    closing = await results.close(status)
    return EpisodeEvidence(
        candidate_alias=asking.candidate.alias,
        task_id=script.task_id,
        mode=asking.mode,
        trial=asking.trial,
        status=closing.status,
        turns=tuple(episode.turns),
        assertions=closing.assertions,
        final_state=closing.final_state,
        state_known=closing.state_known,
        declared_assertions=closing.declared_assertions,
        unresolved=episode.unresolved,
        detail=closing.detail if episode.detail is None else episode.detail,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """By what an episode is driven."""

    script: Script
    kernel: Kernel
    scoring: Scoring
    limits: Limits

    def judged(self, told: TurnEvidence, turn: ScriptTurn, called_before: list[str]) -> TurnEvidence:
        """The evidence of a reply with everything that comparison says of it; `advanced` as far as that goes."""
        response = told.response
        if response is None:
            return told
        calls = response.tool_calls
        matches = self.kernel.match(calls, told.gold)
        in_order = ordered(self.script, calls, matches, called_before=called_before)
        text_ok = None if turn.calls else self._text_ok(turn, response)
        fits = text_ok or (
            bool(turn.calls) and len(calls) == len(told.gold) and all(match.full for match in matches) and in_order
        )
        return replace(
            told,
            matches=matches,
            ordered=in_order,
            text_ok=text_ok,
            advanced=fits and not response.incomplete,
        )

    def _text_ok(self, turn: ScriptTurn, response: ChatResponse) -> bool:
        if response.tool_calls or not in_words(response.assistant_content):
            return False
        free = turn.terminal or self.scoring.intermediate_text_matching == "structural"
        return free or spoken(response.assistant_content) == turn.text


class _Episode:
    """What has happened so far. Each `turn` asks once and says how the episode ends, or None while it goes on."""

    def __init__(self, rules: _Rules, asking: Asking, results: Results) -> None:
        self._rules = rules
        self._asking = asking
        self._results = results
        self._deadline = asking.clock() + rules.limits.episode_timeout_s
        self._route = self._start()
        self._conversation = Conversation(rules.script, echoes=asking.candidate.inference.echo_reasoning)
        self._called: list[str] = []
        self.turns: list[TurnEvidence] = []
        self.unresolved: tuple[Resolution, ...] = ()
        self.detail: str | None = None

    def _start(self) -> Continuation:
        policy = self._rules.scoring.executable_continuation if self._asking.mode == "executable" else "gold"
        return continuation_of(policy, self._rules.script)

    async def turn(self) -> EpisodeStatus | None:
        """Ask for one reply and take it to its end. Raises: EvalError."""
        if len(self.turns) >= self._rules.limits.max_turns:
            return "max_turns_exceeded"
        if self._asking.clock() >= self._deadline:
            return "episode_timeout"
        turn = self._route.turn
        gold, resolutions = self._results.gold(turn)
        if not self._route.live and any(one.status != "resolved" for one in resolutions):
            self.unresolved = resolutions
            return "dependency_resolution_failed"
        outcome = await self._ask()
        evidence = self._rules.judged(_asked(turn, gold, resolutions, outcome), turn, self._called)
        if outcome.response is None:
            self.turns.append(evidence)
            return "malformed_response" if outcome.status == "malformed_response" else "candidate_call_failed"
        # Unusable ids end a trace episode only where results were due: a mismatch tells more about the candidate.
        usable = usable_call_ids(outcome.response.tool_calls)
        refused = not usable and (evidence.advanced or self._asking.mode == "executable")
        released = await self._release(turn, evidence, outcome.response, advancing=evidence.advanced and usable)
        stopped: EpisodeStatus | None = "unusable_tool_call_ids" if refused else released.status
        advanced = evidence.advanced and stopped is None
        self.turns.append(replace(evidence, advanced=advanced, executions=released.executions))
        if stopped is not None:
            self.detail = released.detail
            return stopped
        return self._go_on(outcome, outcome.response, released)

    async def _ask(self) -> ChatOutcome:
        messages = self._conversation.messages(self.turns, self._start())
        request = self._asking.request(self._rules.script, messages, len(self.turns))
        return await self._asking.client.complete(request, self._deadline)

    async def _release(
        self, turn: ScriptTurn, evidence: TurnEvidence, response: ChatResponse, *, advancing: bool
    ) -> Released:
        if not response.tool_calls:
            return Released()
        return await self._results.release(turn, response, evidence.matches, advancing=advancing)

    def _go_on(self, outcome: ChatOutcome, response: ChatResponse, released: Released) -> EpisodeStatus | None:
        """Follow the reply written down last: show the candidate what it has earned, or end."""
        step = self._route.follow(self.turns[-1])
        if step.status is not None:
            return step.status
        self._conversation.answered(response, self._asking.echoed(outcome))
        texts = [*map(given_back, released.executions)] if self._route.live else released.texts
        self._conversation.released(response.tool_calls, texts)
        if step.user is not None:
            self._conversation.heard(step.user)
        self._called += [call.function_name for call in response.tool_calls]
        return None


def _asked(
    turn: ScriptTurn, gold: tuple[GoldCall, ...], resolutions: tuple[Resolution, ...], outcome: ChatOutcome
) -> TurnEvidence:
    """A turn that was asked, before its reply is looked at."""
    return TurnEvidence(
        turn_index=turn.index,
        request_hash=outcome.request_hash,
        call_status=outcome.status,
        response=outcome.response,
        gold=gold,
        matches=(),
        ordered=True,
        text_ok=None if turn.calls else False,
        advanced=False,
        resolutions=resolutions,
    )
