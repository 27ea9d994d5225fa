"""Check D2: does every structured error carry a code? Rule: pack.md §6, §11."""

from __future__ import annotations

from collections.abc import Iterator

from bfcl.checks.findings import Findings, Subject
from bfcl.checks.probes import Observation, at_case, probes
from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding
from bfcl.stages.divergence import ABSENT, shortened


def check(subject: Subject) -> Findings:
    """The `code` of every error that a probe met is non-empty text.

    Raises: OracleError if no episode can run at all.
    """
    pack = subject.pack
    return Findings([one for answer in probes(subject).seen.answers for one in _faults(pack, answer)], [])


def _faults(pack: Pack, answer: Observation) -> Iterator[Finding]:
    error = answer.result.get("error")
    if not isinstance(error, dict):
        return
    code = error.get("code")
    if isinstance(code, str) and code.strip():
        return
    seen = shortened(code) if "code" in error else ABSENT
    found = Finding(
        code="error_code_missing",
        message=f"answered {shortened(answer.result)}: the error's `code` is {seen}; expected non-empty text",
        fix='refuse with `{"error": {"code": "<word>"}}`',
    )
    yield at_case(pack, answer.index, "", found)
