"""Runs the checks of `prepare` in their fixed order and adds them up to a verdict. Rule: pack.md §11."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Final

from bfcl.checks import (
    assertions_importable,
    backend_schema_alignment,
    declared_validation_cases,
    isolation,
    representative_generation_contract,
    template_slot_sources,
    template_tool_names,
    tier,
)
from bfcl.checks.findings import Findings, Subject, from_load_warning, from_problem
from bfcl.config.model import RunConfig
from bfcl.errors import OracleError, StageError
from bfcl.oracle.protocol import Oracle
from bfcl.pack.model import Pack, Role
from bfcl.records.verdict import CheckResult, Finding, PackVerdict
from bfcl.stages.wording import render_language


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check of the table: its report id, name, and the checks that must have passed before it means anything."""

    id: str
    name: str
    run: Callable[[Subject], Findings]
    needs: tuple[str, ...] = ()


CHECKS: Final = (
    Check(id="1", name="template_tool_names", run=template_tool_names.check),
    Check(id="2", name="template_slot_sources", run=template_slot_sources.check),
    Check(id="3", name="backend_schema_alignment", run=backend_schema_alignment.check),
    Check(id="4", name="assertions_importable", run=assertions_importable.check),
    Check(id="5", name="declared_validation_cases", run=declared_validation_cases.check, needs=("3",)),
    Check(
        id="7",
        name="representative_generation_contract",
        run=representative_generation_contract.check,
        needs=("1", "2", "3", "4"),
    ),
    Check(id="I1", name="isolation", run=isolation.check),
)

_WARNED_BY: Final[dict[Role, str]] = {
    "manifest": "1",
    "templates": "1",
    "fixtures": "2",
    "tools": "3",
    "backend": "3",
    "assertions": "4",
    "validation_cases": "5",
    "system_prompt": "1",
}
"""The check under which a loading warning about a file is reported."""


def validate_pack(pack: Pack, config: RunConfig, oracle: Oracle) -> PackVerdict:
    """Every check's result, in the order of the table, and the tier they make.

    A check whose needs did not pass is skipped; a skipped check is never a pass. Trouble with the oracle is a failure
    of the check that met it. Raises ConfigError where the configuration asks for a language the templates do not offer.
    """
    _refuse_language_not_offered(pack, config)
    subject = Subject(pack=pack, config=config, oracle=oracle, description=oracle.describe())
    loading = _loading_warnings(pack)
    done: dict[str, CheckResult] = {}
    for check in CHECKS:
        result = _result(check, subject, done)
        done[check.id] = dataclasses.replace(result, warnings=(*loading.get(check.id, ()), *result.warnings))
    return tier.verdict(pack, subject.description, tuple(done.values()))


def _refuse_language_not_offered(pack: Pack, config: RunConfig) -> None:
    # A fault of the configuration, not of the pack: no verdict. What the pack leaves open is check 7's to report.
    with contextlib.suppress(StageError):
        render_language(config.surface_generation.language, pack.manifest, pack.templates)


def _result(check: Check, subject: Subject, done: dict[str, CheckResult]) -> CheckResult:
    missing = [id_ for id_ in check.needs if done[id_].status != "pass"]
    if missing:
        word = "check" if len(missing) == 1 else "checks"
        because = f"{word} {', '.join(missing)} did not pass"
        return CheckResult(id=check.id, name=check.name, status="skipped", skipped_because=because)
    try:
        found = check.run(subject)
    except OracleError as error:
        found = Findings([from_problem(problem) for problem in error.problems], [])
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
