"""Check A1: has the service behind an endpoint pack been attested? And what can be said of the pack until then?

An endpoint is never contacted without a pinned attestation, so every check that asks the oracle is skipped.
Rule: pack.md §6, §11; remote_oracles.md §5.
"""

from __future__ import annotations

from typing import Final

from bfcl.checks.findings import Findings, Subject
from bfcl.checks.outline import Unreadable, exported_assertions, read_outline
from bfcl.pack.model import Pack
from bfcl.records.verdict import Finding

ASKING: Final = frozenset({"3", "4", "5", "6", "7", "M1", "D1", "D2"})
"""Checks of the table that ask the oracle or run the pack's code beside it."""


def check(subject: Subject) -> Findings:
    """Whether an attestation is pinned; a pack that pins one does not load, since nothing here could compare it."""
    return findings(subject.pack)


def findings(pack: Pack) -> Findings:
    """What the check finds; the service is not contacted."""
    endpoint = pack.endpoint
    if endpoint is None or endpoint.attestation_digest is not None:
        return Findings([], [])
    finding = Finding(
        code="endpoint_attestation_missing",
        message=f"no attestation of {endpoint.base_url} is pinned, so the service was not contacted; expected "
        "`attestation.kind` and `attestation.expected_digest`",
        file=pack.shown_path("endpoint"),
        fix="write a `backend.py` to reach Gold with this release, which runs Python oracles only",
    )
    return Findings([finding], [])


def not_contacted(pack: Pack, check_id: str) -> str | None:
    """Why a check of an endpoint pack is skipped; None where it needs no service, or the pack has a backend."""
    if pack.endpoint is None or check_id not in ASKING:
        return None
    return "the endpoint is not contacted without a pinned attestation"


def assertions_as_written(pack: Pack) -> tuple[str, ...]:
    """Names the assertions module exports, read from its text: nothing of it runs while its oracle does not.

    Where the text does not tell, those that the templates ask for.
    """
    outline = read_outline(pack.code["assertions"])
    if isinstance(outline, Unreadable):
        return ()
    exported = exported_assertions(outline)
    if exported is None:
        return tuple(dict.fromkeys(name for template in pack.templates for name in template.success_assertions))
    return tuple(info.name for info in exported)
