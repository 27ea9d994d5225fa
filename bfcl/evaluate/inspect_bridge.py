"""How does a published benchmark run as an Inspect task, scored as `bfcl eval` scores it?

    # task.py, for: inspect eval task.py --model PROVIDER/MODEL
    from inspect_ai import task
    from bfcl.evaluate.inspect_bridge import bfcl_task

    @task
    def mine():
        return bfcl_task("configs/mine.yaml")

Inspect asks the model and writes the log. Gates, script, oracle, driver and scorer are those of an evaluation, and
nothing but the client differs. What is measured is no result of `bfcl eval`: nobody pinned the weights, and no record
of it can be verified. Rule: evaluation.md §6-§9.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bfcl.canonical import Json, canonical_text
from bfcl.errors import EvalError, Problem, did_you_mean
from bfcl.evaluate.drive.evidence_json import evidence_json, read_evidence
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.inspect_episodes import InspectEpisodes
from bfcl.evaluate.inspect_exchange import inspect_part
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.score.episode import failure_json
from bfcl.evaluate.settings.envelope import check_probe, load_envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.evaluate.source.plan import Plan, plan_of
from bfcl.evaluate.source.recheck import Watch
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.evaluate.source.verify import verify_source
from bfcl.exports.row import ExportRow

EVIDENCE: Final = "bfcl_evidence"
"""Where the evidence of a sample stands in its store: it is all that its score is made of."""


def bfcl_task(scoring_config: str | Path, candidate_alias: str | None = None) -> Any:
    """The benchmark that a scoring configuration, or an envelope, names, as an `inspect_ai.Task`.

    `candidate_alias` chooses the candidate whose `inference` block says how to ask; it may be left out where there is
    one candidate only. Its model, endpoint and key are not used: those are of Inspect's `--model`.
    Raises: EvalError as the gates before an evaluation do, `inspect_ai_not_installed`, `candidate_identity_invalid`
    for an alias that is not there, `unsupported_eval_mode` for held-out tasks, which no log may hold.
    """
    envelope = load_envelope(Path(scoring_config))
    settings = load_settings(envelope.eval_config_path)
    _refuse_held_out(settings)
    check_probe(envelope, executable=settings.executable)
    candidate = _chosen(settings, candidate_alias)
    inspect = inspect_part("")
    verified = verify_source(settings, probe_oracle=envelope.probe_oracle)
    plan = plan_of(settings, verified)
    rows = {row.task_id: row for row in verified.rows}
    chosen = [rows[task_id] for task_id in plan.task_ids(candidate.alias)]
    scripts = {row.task_id: read_script(row) for row in chosen}
    played = InspectEpisodes(settings, candidate, verified, Watch(settings, verified, plan), scripts)
    return inspect.Task(
        dataset=inspect_part("dataset").MemoryDataset(
            [_sample(row, scripts[row.task_id]) for row in chosen], name=verified.run_id
        ),
        solver=_solver(played),
        scorer=_scorer(played),
        epochs=settings.repeats.trials,
        name="bfcl",
        metadata=_about(settings, verified, plan, candidate),
    )


def _chosen(settings: EvalSettings, alias: str | None) -> Candidate:
    known = {candidate.alias: candidate for candidate in settings.candidates}
    if alias is None and len(known) == 1:
        return settings.candidates[0]
    if alias in known:
        return known[alias]
    listed = ", ".join(known)
    seen = "no candidate is named" if alias is None else f"no candidate has the alias `{alias}`"
    raise EvalError(
        Problem(
            code="candidate_identity_invalid",
            path=str(settings.path),
            field="candidates",
            message=f"{seen}; the configuration has {listed}",
            fix=(did_you_mean(alias, known) if alias else None) or f"give one of {listed} as `candidate_alias`",
        )
    )


def _refuse_held_out(settings: EvalSettings) -> None:
    if settings.held_out is not None:
        raise EvalError(
            Problem(
                code="unsupported_eval_mode",
                path=str(settings.path),
                field="eval.mode",
                message="`held_out_eval` is among the modes; an Inspect log would hold the private tasks",
                fix="run `bfcl eval` for held-out tasks, and leave that mode out here",
            )
        )


def _sample(row: ExportRow, script: Script) -> Any:
    """What the model sees first, and what is said of the task in the log."""
    model = inspect_part("model")
    kinds = {"system": model.ChatMessageSystem, "user": model.ChatMessageUser}
    published = row.published
    expected = [f"{call.tool}({canonical_text(call.arguments)})" for call in script.gold_calls]
    return inspect_part("dataset").Sample(
        id=row.task_id,
        input=[kinds[str(message["role"])](content=message["content"]) for message in script.seed_messages],
        target="\n".join(expected) or "no call",
        metadata={
            "template_id": published["template_id"],
            "turn_policy": published["turn_policy"],
            "category": published["category"],
            "difficulty": published["difficulty"],
            "language": row.metadata["language"],
            "call_order": published["call_order"],
        },
    )


def _about(settings: EvalSettings, verified: VerifiedSource, plan: Plan, candidate: Candidate) -> dict[str, Json]:
    """What the numbers of a log rest on."""
    return {
        "source_run_id": verified.run_id,
        "source_identity": verified.source_identity,
        "source_verification_identity": verified.verification_identity,
        "eval_config_hash": settings.eval_config_hash,
        "measurement_hash": settings.measurement_hash,
        "scoring_policy_hash": settings.scoring.policy_hash,
        "plan_identity": plan.plan_identity,
        "task_ids_hash": plan.tasks_of(candidate.alias).task_ids_hash,
        "candidate_alias": candidate.alias,
        "mode": "executable" if settings.executable else "trace",
    }


def _solver(played: InspectEpisodes) -> Any:
    """Plays the script of a sample, and leaves evidence and conversation with it."""

    async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001 Inspect calls it so
        chat = played.chat()
        evidence = await played.play(str(state.sample_id), state.epoch - 1, chat)
        state.store.set(EVIDENCE, evidence_json(evidence))
        state.messages = list(chat.shown)
        state.output = chat.output or state.output
        state.completed = True
        return state

    return inspect_part("solver").solver(name="bfcl_script")(lambda: solve)()


def _scorer(played: InspectEpisodes) -> Any:
    """Task success, with every gate beside it; of nothing but the evidence that the sample holds."""
    scoring = inspect_part("scorer")

    async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 Inspect calls it so
        evidence = read_evidence(state.store.get(EVIDENCE))
        told = played.score(str(state.sample_id), evidence)
        return scoring.Score(
            value=1.0 if told.task_success else 0.0,
            answer=_made(evidence),
            explanation=_explanation(told, evidence),
            metadata=_told(told),
        )

    metrics = [scoring.mean(), scoring.stderr(cluster="template_id")]
    return scoring.scorer(metrics=metrics, name="task_success")(lambda: score)()


def _made(evidence: EpisodeEvidence) -> str:
    """The calls that the model made, one a line."""
    replies = [turn.response for turn in evidence.turns if turn.response is not None]
    calls = [call for reply in replies for call in reply.tool_calls]
    return "\n".join(f"{call.function_name}({call.raw_arguments})" for call in calls)


def _explanation(score: TaskScore, evidence: EpisodeEvidence) -> str:
    failed = [
        f"{gate.name} ({gate.reason_code}, {gate.failure_class})" for gate in score.gates if gate.outcome == "failed"
    ]
    if not failed:
        return "every gate that applies passed"
    why = f": {evidence.detail}" if evidence.detail else ""
    return f"{score.episode_status}{why}; failed: {', '.join(failed)}"


def _told(score: TaskScore) -> dict[str, Json]:
    return {
        "episode_status": score.episode_status,
        "non_candidate_stop": score.non_candidate_stop,
        "gates": {
            gate.name: {
                "outcome": gate.outcome,
                "reason_code": gate.reason_code,
                "failure_class": gate.failure_class,
                "turn_index": gate.turn_index,
            }
            for gate in score.gates
        },
        "failure_records": [failure_json(one) for one in score.failures],
        "score_hash": score.score_hash,
    }
