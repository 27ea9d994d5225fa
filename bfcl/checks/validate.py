"""Runs the checks of `prepare` in their fixed order and adds them up to a verdict. Rule: pack.md §11."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Final

from bfcl.checks import (
    assertions_importable,
    backend_schema_alignment,
    confirmation_policy,
    declared_validation_cases,
    determinism,
    endpoint_conformance,
    error_shape,
    isolation,
    kept,
    mutation_declaration,
    probes,
    representative_generation_contract,
    template_slot_sources,
    template_tool_names,
    tier,
    timeout_enforcement,
)
from bfcl.checks.findings import Findings, Subject, from_load_warning, from_problem
from bfcl.checks.fixes import with_fixes
from bfcl.checks.reuse import ORACLE, Part, Reuse
from bfcl.config.model import RunConfig
from bfcl.errors import OracleError, StageError
from bfcl.oracle.protocol import Oracle
from bfcl.pack.model import Pack, Role
from bfcl.records.verdict import CheckResult, Finding, PackVerdict
from bfcl.stages.wording import render_language


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of the table: its report id, name, and what has to hold before it means anything.

    `needs` names checks that must have passed, `needs_run` checks that must not have been skipped; `process_only` skips
    it for a worker thread. `on_probes` says that it judges the declared probes: its result is kept only where none of
    them was stopped. `begin` starts what can go on while the checks before it run.
    """

    id: str
    name: str
    run: Callable[[Subject], Findings]
    reads: frozenset[str] | None
    """What its result depends on; None where the check keeps parts of its result itself."""
    needs: tuple[str, ...] = ()
    needs_run: tuple[str, ...] = ()
    process_only: bool = False
    on_probes: bool = False
    begin: Callable[[], None] | None = None


def _reads(*parts: Part) -> frozenset[str]:
    return frozenset(parts)


_PROBED: Final = ORACLE | _reads("validation_cases")

CHECKS: Final = (
    Check(
        id="1",
        name="template_tool_names",
        run=template_tool_names.check,
        reads=_reads("manifest", "tools", "templates"),
    ),
    Check(
        id="2",
        name="template_slot_sources",
        run=template_slot_sources.check,
        reads=_reads("manifest", "tools", "templates", "fixtures", "held_out"),
    ),
    Check(
        id="3",
        name="backend_schema_alignment",
        run=backend_schema_alignment.check,
        reads=_reads("manifest", "tools", "view", "config", "review_markers"),
    ),
    Check(
        id="4",
        name="assertions_importable",
        run=assertions_importable.check,
        reads=_reads("templates", "view", "config"),
    ),
    Check(
        id="5",
        name="declared_validation_cases",
        run=declared_validation_cases.check,
        reads=_PROBED,
        needs=("3",),
        on_probes=True,
    ),
    Check(
        id="6",
        name="confirmation_policy",
        run=confirmation_policy.check,
        reads=_PROBED,
        needs=("3",),
        on_probes=True,
    ),
    Check(
        id="7",
        name="representative_generation_contract",
        run=representative_generation_contract.check,
        reads=None,
        needs=("1", "2", "3", "4"),
    ),
    Check(
        id="M1",
        name="mutation_declaration",
        run=mutation_declaration.check,
        reads=_PROBED,
        needs=("3",),
        on_probes=True,
    ),
    Check(id="D1", name="determinism", run=determinism.check, reads=_PROBED, needs_run=("5",), on_probes=True),
    Check(id="D2", name="error_shape", run=error_shape.check, reads=_PROBED, needs_run=("5",), on_probes=True),
    Check(
        id="T1",
        name="timeout_enforcement",
        run=timeout_enforcement.check,
        reads=_reads("config"),
        process_only=True,
        begin=timeout_enforcement.begin,
    ),
    Check(id="I1", name="isolation", run=isolation.check, reads=_reads("config")),
)
ENDPOINT_CHECKS: Final = (Check(id="A1", name="endpoint_conformance", run=endpoint_conformance.check, reads=None),)
"""What a pack with an endpoint is asked besides."""

_WARNED_BY: Final[dict[Role, str]] = {
    "manifest": "1",
    "templates": "1",
    "fixtures": "2",
    "tools": "3",
    "backend": "3",
    "endpoint": "3",
    "assertions": "4",
    "validation_cases": "5",
    "system_prompt": "1",
    "held_out": "2",
}
"""The check under which a loading warning about a file is reported."""


def validate_pack(pack: Pack, config: RunConfig, oracle: Oracle, *, reuse: Reuse | None = None) -> PackVerdict:
    """Every check's result, in the order of the table, and the tier they make.

    A check whose needs do not hold is skipped; a skipped check is never a pass. Trouble with the oracle is a failure of
    the check that met it. With `reuse`, results that still hold are taken over and new ones kept; where all of them
    hold, the oracle is not asked at all. Without it everything is computed.
    Raises ConfigError where the configuration asks for a language the templates do not offer, OracleError where no
    interpreter comes up.
    """
    _refuse_language_not_offered(pack, config)
    subject = Subject(pack=pack, config=config, oracle=oracle, reuse=reuse)
    checks = CHECKS if pack.endpoint is None else (*CHECKS, *ENDPOINT_CHECKS)
    found = {check.id: _kept(check, subject) for check in checks}
    for check in checks:
        if check.begin is not None and found[check.id] is None and not _unsuited(check, subject):
            check.begin()
    loading = _loading_warnings(pack)
    done: dict[str, CheckResult] = {}
    for check in checks:
        because = _unsuited(check, subject) or _unmet(check, done)
        if because is not None:
            result = CheckResult(id=check.id, name=check.name, status="skipped", skipped_because=because)
        else:
            result = found[check.id] or _run(check, subject)
        done[check.id] = dataclasses.replace(result, warnings=(*loading.get(check.id, ()), *result.warnings))
    return tier.verdict(pack, _exported(subject), tuple(done.values()))


def _refuse_language_not_offered(pack: Pack, config: RunConfig) -> None:
    # A fault of the configuration, not of the pack: no verdict. What the pack leaves open is check 7's to report.
    with contextlib.suppress(StageError):
        render_language(config.surface_generation.language, pack.manifest, pack.templates)


def _kept(check: Check, subject: Subject) -> CheckResult | None:
    return None if check.reads is None else kept.find_check(subject, check.id, check.reads)


def _exported(subject: Subject) -> tuple[str, ...]:
    if subject.pack.endpoint is None:
        return kept.exported_assertions(subject)
    return endpoint_conformance.assertions_as_written(subject.pack)


def _unsuited(check: Check, subject: Subject) -> str | None:
    silent = endpoint_conformance.not_contacted(subject.pack, check.id)
    if silent is not None:
        return silent
    worker = subject.config.oracle_runtime.worker
    return f"`oracle_runtime.worker` is `{worker}`" if check.process_only and worker != "process" else None


def _unmet(check: Check, done: dict[str, CheckResult]) -> str | None:
    for what, missing in (
        ("did not pass", [id_ for id_ in check.needs if done[id_].status != "pass"]),
        ("did not run", [id_ for id_ in check.needs_run if done[id_].status == "skipped"]),
    ):
        if missing:
            return f"{'check' if len(missing) == 1 else 'checks'} {', '.join(missing)} {what}"
    return None


def _run(check: Check, subject: Subject) -> CheckResult:
    """The check's result as computed now, kept where the same pack brings it again."""
    try:
        found = check.run(subject)
    except OracleError as error:
        # No verdict on any pack where no interpreter comes up: then this raises too.
        _ = subject.description
        return _result(check, Findings([from_problem(problem) for problem in error.problems], []))
    result = _result(check, found)
    if check.reads is not None and (not check.on_probes or probes.all_ended(subject)):
        kept.keep_check(subject, result, check.reads)
    return result


def _result(check: Check, found: Findings) -> CheckResult:
    found = with_fixes(found)
    return CheckResult(
        id=check.id,
        name=check.name,
        status="fail" if found.failures else "pass",
        failures=tuple(found.failures),
        warnings=tuple(found.warnings),
    )


def _loading_warnings(pack: Pack) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for problem in pack.warnings:
        role, finding = from_load_warning(pack, problem)
        found.setdefault(_WARNED_BY[role], []).append(finding)
    return found
