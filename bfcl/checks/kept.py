"""What did an earlier validation find that still holds, and what of this one is worth keeping?

Kept findings name their place by pointer; lines are looked up in the file as it stands now.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from bfcl.canonical import Json
from bfcl.checks.assertions_importable import is_no_table
from bfcl.checks.findings import Findings, Subject, text_pointer
from bfcl.checks.reuse import EXPORTS, ORACLE, of_template
from bfcl.oracle.protocol import STOPPED, Breakdown
from bfcl.pack.json_pointer import pointer_text
from bfcl.pack.model import Pack
from bfcl.records.verdict import CheckResult, Finding

_NOT_AGAIN: Final = STOPPED | {"timeout_not_enforced"}
_EXPORTS_READ: Final[frozenset[str]] = frozenset({"view"})


def steady(codes: Iterable[str]) -> bool:
    """Whether nothing was stopped at a deadline or died: then the same pack brings the same findings again."""
    return _NOT_AGAIN.isdisjoint(codes)


def none_stopped(breakdowns: Iterable[Breakdown | None]) -> bool:
    """Whether no episode of these endings was stopped at a deadline or died."""
    return all(broken is None or broken.code not in STOPPED for broken in breakdowns)


# --- whole checks -------------------------------------------------------------------------------------------------


def find_check(subject: Subject, check_id: str, reads: frozenset[str]) -> CheckResult | None:
    """The kept result of a check, its findings placed anew; None where none holds."""
    value = None if subject.reuse is None else subject.reuse.find(check_id, reads)
    if value is None:
        return None
    result = CheckResult.from_json(_mapping(value))
    return dataclasses.replace(
        result,
        failures=tuple(_placed(subject.pack, one) for one in result.failures),
        warnings=tuple(_placed(subject.pack, one) for one in result.warnings),
    )


def keep_check(subject: Subject, result: CheckResult, reads: frozenset[str]) -> None:
    """Keep the result of a check that ran, unless something was stopped in it."""
    if subject.reuse is not None and steady(one.code for one in (*result.failures, *result.warnings)):
        subject.reuse.keep(result.id, reads, result.kept_json())


def _placed(pack: Pack, finding: Finding) -> Finding:
    """The finding at the line where its pointer leads now; one without a pointer stands in a file that is unchanged."""
    if finding.pointer is not None:
        for role, document in pack.documents.items():
            if pack.shown_path(role) == finding.file:
                line = document.line(text_pointer(document.value, finding.pointer))
                return dataclasses.replace(finding, line=line)
    return finding


# --- the representative of one template -----------------------------------------------------------------------------


def find_template(subject: Subject, index: int, language: str) -> Findings | None:
    """What check 7 kept of template number `index`, as worded in a language; None where nothing holds.

    The language is compared here: which one is rendered depends on what every template offers.
    """
    template_id = subject.pack.templates[index].template_id
    found = None if subject.reuse is None else subject.reuse.find(f"7/{template_id}", _template_reads(subject, index))
    if found is None:
        return None
    value = _mapping(found)
    if value["language"] != language:
        return None
    return Findings(*(_of_template(subject.pack, index, value[kind]) for kind in ("failures", "warnings")))


def keep_template(subject: Subject, index: int, language: str, found: Findings) -> None:
    """Keep what check 7 found of template number `index`, places relative to the template."""
    if subject.reuse is None or not steady(one.code for one in (*found.failures, *found.warnings)):
        return
    value: dict[str, Json] = {
        "language": language,
        "failures": _relative(subject.pack, index, found.failures),
        "warnings": _relative(subject.pack, index, found.warnings),
    }
    template_id = subject.pack.templates[index].template_id
    subject.reuse.keep(f"7/{template_id}", _template_reads(subject, index), value)


def _template_reads(subject: Subject, index: int) -> frozenset[str]:
    return ORACLE | {"budget", "surface", of_template(subject.pack.templates[index].template_id)}


def _relative(pack: Pack, index: int, findings: Sequence[Finding]) -> list[Json]:
    """Findings without line; a pointer into the template begins at the template."""
    root, file = pointer_text((index,)), pack.shown_path("templates")
    return [
        dataclasses.replace(one, pointer=one.pointer.removeprefix(root), line=None).kept_json()
        if one.file == file and one.pointer is not None
        else one.kept_json()
        for one in findings
    ]


def _of_template(pack: Pack, index: int, values: Sequence[Mapping[str, Any]]) -> list[Finding]:
    file = pack.shown_path("templates")
    found = []
    for value in values:
        one = Finding.from_json(value)
        if one.file == file and one.pointer is not None:
            one = dataclasses.replace(one, pointer=pointer_text((index,)) + one.pointer)
        found.append(_placed(pack, one))
    return found


# --- exported assertions --------------------------------------------------------------------------------------------


def exported_assertions(subject: Subject) -> tuple[str, ...]:
    """Names the assertions module exports, kept or asked of the oracle. Raises OracleError if no interpreter comes."""
    value = None if subject.reuse is None else subject.reuse.find(EXPORTS, _EXPORTS_READ)
    if value is not None:
        return tuple(cast("Sequence[str]", value))
    description = subject.description
    names = tuple(info.name for info in description.assertions if not is_no_table(info))
    if subject.reuse is not None and none_stopped([description.assertions_breakdown]):
        subject.reuse.keep(EXPORTS, _EXPORTS_READ, names)
    return names


def _mapping(value: Json) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value)
