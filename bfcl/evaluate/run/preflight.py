"""May this run begin, and with what? Every gate before the first request. Rule: evaluation.md §3, §13, §17.5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.drive.preflight_turns import preflight_turns
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import Script
from bfcl.evaluate.run.directory import Before, look
from bfcl.evaluate.run.earlier import NO_EARLIER, Earlier, earlier_runs
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.taken_from import as_recorded
from bfcl.evaluate.settings.envelope import Envelope, check_probe
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.resolved import write_resolved
from bfcl.evaluate.source.plan import Plan, plan_of
from bfcl.evaluate.source.reports import (
    write_contamination_failure,
    write_contamination_report,
    write_verification_failure,
    write_verification_report,
)
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.evaluate.source.verify import verify_source
from bfcl.exports.row import ExportRow
from bfcl.modelio.chat_live import CREDENTIALS_MISSING
from bfcl.modelio.chat_request import extension_fields
from bfcl.modelio.credential import Credential
from bfcl.pack.layout import shown

SEEDLESS: Final = "seed_policy_without_seed"
SCRIPTS_TOLD: Final = 20
"""How many faults of rows one refusal tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything that a run rests on, verified."""

    settings: EvalSettings
    before: Before
    verified: VerifiedSource
    plan: Plan
    rows: Mapping[str, ExportRow]
    """Planned rows by task id, in publication order."""
    scripts: Mapping[str, Script]
    """Of the same rows."""
    warnings: tuple[Problem, ...]
    earlier: Earlier = NO_EARLIER
    """Runs to take answers from."""


def prepare(envelope: Envelope, settings: EvalSettings, how: How) -> Prepared:
    """Pass the gates in order. Unless it is a dry run, the directory then tells what was found, or what refused.

    Raises: EvalError with the code of the gate that refused; StageError `storage_failed`.
    """
    check_probe(envelope, executable=settings.needs_oracle)
    earlier = earlier_runs(envelope, settings)
    before = look(settings, how)
    resume_from, earlier = as_recorded(envelope, settings, before, earlier)
    writes = not envelope.dry_run
    if writes:
        write_resolved(settings, resume_from=resume_from)
    verified = _verified(settings, how, envelope, writes=writes)
    plan = _planned(settings, verified, how, writes=writes)
    rows = plan.rows(verified.rows)
    scripts = _scripts(rows)
    raise_all(EvalError, [*_unasserted(settings, rows), *_extension_problems(settings)])
    return Prepared(
        settings=settings,
        before=before,
        verified=verified,
        plan=plan,
        rows=rows,
        scripts=scripts,
        warnings=(*preflight_turns(list(scripts.values()), settings), *_seedless(settings), *earlier.warnings()),
        earlier=earlier,
    )


def unset_credentials(settings: EvalSettings, how: How) -> tuple[Problem, ...]:
    """Warnings of variables that hold no usable key now, each once with everyone who needs it.

    They refuse nothing: a key is read at the first request, and a run over recorded answers needs none.
    """
    needing: dict[str, list[str]] = {}
    for candidate in settings.candidates:
        needing.setdefault(candidate.api_key_env, []).append(candidate.alias)
    faults = {variable: Credential(variable, how.environment).fault() for variable in needing}
    return tuple(
        Problem(
            code=CREDENTIALS_MISSING,
            subject=", ".join(aliases),
            field="api.api_key_env",
            message=f"the environment variable {variable} {faults[variable]}, and the run would stop at its first "
            "request",
            fix=f"export {variable} with the provider's key before the run; for a server that wants none, any value",
        )
        for variable, aliases in needing.items()
        if faults[variable] is not None
    )


def _verified(settings: EvalSettings, how: How, envelope: Envelope, *, writes: bool) -> VerifiedSource:
    try:
        verified = verify_source(settings, probe_oracle=envelope.probe_oracle)
    except EvalError as error:
        if writes:
            write_verification_failure(settings, error, at=how.now())
        raise
    if writes:
        write_verification_report(settings, verified, at=how.now())
    return verified


def _planned(settings: EvalSettings, verified: VerifiedSource, how: How, *, writes: bool) -> Plan:
    try:
        plan = plan_of(settings, verified)
    except EvalError as error:
        if writes:
            write_contamination_failure(settings, verified, error, at=how.now())
        raise
    if writes:
        write_contamination_report(settings, verified, plan, at=how.now())
    return plan


def _scripts(rows: Mapping[str, ExportRow]) -> dict[str, Script]:
    """The script of every row. Raises: EvalError `eval_conversation_script_invalid` with the first faults."""
    scripts: dict[str, Script] = {}
    problems: list[Problem] = []
    for task_id, row in rows.items():
        try:
            scripts[task_id] = read_script(row)
        except EvalError as error:
            problems += error.problems
    raise_all(EvalError, problems[:SCRIPTS_TOLD])
    return scripts


def _unasserted(settings: EvalSettings, rows: Mapping[str, ExportRow]) -> Iterator[Problem]:
    """Tasks that a policy could not judge once they were played and paid for."""
    if settings.scoring.task_success != "assertions_only":
        return
    without = [task_id for task_id, row in rows.items() if not row.published["success_assertions"]]
    if without:
        yield Problem(
            code="eval_executable_scoring_policy_unsupported",
            path=shown(settings.path),
            field="scoring.task_success",
            message=f"is assertions_only, and {len(without)} of {len(rows)} tasks declare no assertion: "
            f"{without[0]}" + (" and others" if len(without) > 1 else ""),
            fix="set `task_success: all_applicable_gates`",
        )


def _seedless(settings: EvalSettings) -> Iterator[Problem]:
    """A seed that is to grow with the trial, and is not sent at all."""
    if settings.repeats.seed_policy != "increment":
        return
    without = [one.alias for one in settings.candidates if one.inference.seed is None]
    if without:
        yield Problem(
            code=SEEDLESS,
            path=shown(settings.path),
            subject=", ".join(without),
            field="repeats.seed_policy",
            message=f"`seed_policy` is `increment`, and `inference.seed` of {', '.join(without)} is null: no request "
            "carries a seed, and every trial asks the same",
            fix="set `inference.seed` to a number, or write `seed_policy: fixed`",
        )


def _extension_problems(settings: EvalSettings) -> Iterator[Problem]:
    for candidate in settings.candidates:
        try:
            extension_fields(candidate)
        except EvalError as error:
            yield from error.problems
