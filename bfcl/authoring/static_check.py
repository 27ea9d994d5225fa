"""What is wrong with a pack's files, without running any of its code? Rule: authoring.md §15, `bfcl check`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.authoring.causes import Known, folded, with_causes
from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic, Severity, in_file_order
from bfcl.checks.findings import text_pointer
from bfcl.checks.static import static_findings
from bfcl.config.loaded import LoadedConfig
from bfcl.errors import ConfigError, Problem
from bfcl.pack.json_pointer import pointer_text
from bfcl.pack.layout import shown
from bfcl.pack.load import Reading, read_configured
from bfcl.pack.model import Pack, Role
from bfcl.pack.own_config import OWN_CONFIG, default_config, own_config, wide_enough
from bfcl.records.verdict import Finding

_FILES: Final[tuple[Role, ...]] = (
    "manifest",
    "tools",
    "fixtures",
    "templates",
    "validation_cases",
    "held_out",
    "backend",
    "assertions",
    "endpoint",
)
"""The order in which a person mends them: what others refer to comes first."""


def static_check(root: Path) -> Checked:
    """Everything that the files at `root` show, under the pack's `validate.yaml` or under defaults that suit it.

    A pack that does not load is checked as far as its files allow. Raises: PackError where `root` holds no manifest.
    """
    loaded, refused = _configuration(root)
    reading = read_configured(loaded)
    found = [_of_problem("error", problem) for problem in (*refused, *reading.problems)]
    pack = reading.pack
    files: Sequence[str] = ()
    if pack is not None:
        found += [_of_problem("warning", problem) for problem in pack.warnings]
        given = (root / OWN_CONFIG).is_file() and not refused
        config = loaded.config if given else wide_enough(loaded.config, pack)
        placing = _Placing(reading, pack, loaded if given else None)
        for judged in static_findings(pack, config):
            found += [placing.diagnostic("error", judged.check, finding) for finding in judged.found.failures]
            found += [placing.diagnostic("warning", judged.check, finding) for finding in judged.found.warnings]
        unknowable = _unknowable(reading, given=given)
        found = [one for one in found if one.code not in unknowable or one.template_id is not None]
        files = [shown(pack.files[role].path) for role in _FILES if role in pack.files]
        found = with_causes(found, Known.of(pack, reading))
    return Checked(
        pack=shown(root.absolute()),
        loads=not (refused or reading.problems),
        diagnostics=tuple(folded(in_file_order(list(dict.fromkeys(found)), files))),
    )


def _unknowable(reading: Reading, *, given: bool) -> set[str]:
    """Codes that would blame what is only missing: a template at fault, or a configuration that nobody wrote."""
    written = reading.written.get("templates")
    entries = written.value if written is not None and isinstance(written.value, list) else []
    lacking = len(reading.kept.get("templates", entries)) < len(entries)
    found = set() if given else {"category_budget_not_reachable"}
    return found | (_UNLESS_ALL if lacking else set())


_UNLESS_ALL: Final = frozenset(
    {"unused_assertion", "category_budget_not_reachable", "render_language_ambiguous", "held_out_binding_starved"}
)
"""Said of all templates together, it may not be so where one could not be read; said of one, it holds."""


def _configuration(root: Path) -> tuple[LoadedConfig, tuple[Problem, ...]]:
    """The pack's own configuration; where that is refused, the defaults, and why."""
    try:
        return own_config(root), ()
    except ConfigError as error:
        return default_config(root), error.problems


class _Placing(NamedTuple):
    """Where findings stand in the files as they are, entries at fault included."""

    reading: Reading
    pack: Pack
    config: LoadedConfig | None
    """The configuration that the pack brings along."""

    def diagnostic(self, severity: Severity, check: str, finding: Finding) -> Diagnostic:
        """The finding with path, line and column."""
        path, line, column, pointer = self._place(finding)
        return Diagnostic(
            severity=severity,
            code=finding.code,
            message=finding.message,
            path=path,
            line=line,
            column=column,
            fix=finding.fix,
            check=check,
            pointer=pointer,
            template_id=finding.template_id,
            case_id=finding.case_id,
            tool=finding.tool,
        )

    def _place(self, finding: Finding) -> tuple[str | None, int | None, int | None, str | None]:
        if finding.file is None:
            return self._in_config(finding.setting)
        role = next((role for role in self.pack.files if self.pack.shown_path(role) == finding.file), None)
        if role is None:
            return shown(self.pack.root / finding.file), finding.line, None, finding.pointer
        path = shown(self.pack.files[role].path)
        document = self.pack.documents.get(role)
        if document is None or finding.pointer is None:
            return path, finding.line, None, finding.pointer
        pointer = list(text_pointer(document.value, finding.pointer))
        kept = self.reading.kept.get(role)
        if kept is not None and pointer and isinstance(pointer[0], int):
            pointer[0] = kept[pointer[0]]
        place = document.place(pointer)
        return path, place.line, place.column, pointer_text(pointer)

    def _in_config(self, setting: str | None) -> tuple[str | None, int | None, int | None, str | None]:
        """The setting that a finding without a place speaks of."""
        if self.config is None or setting is None:
            return None, None, None, None
        pointer = setting.split(".")
        place = self.config.document.place(pointer)
        return self.config.document.path, place.line, place.column, pointer_text(pointer)


def _of_problem(severity: Severity, problem: Problem) -> Diagnostic:
    message = problem.message if problem.subject is None else f"{problem.subject}: {problem.message}"
    return Diagnostic(
        severity=severity,
        code=problem.code,
        message=message,
        path=problem.path,
        line=problem.line,
        column=problem.column,
        fix=problem.fix,
    )
