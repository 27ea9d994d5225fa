"""May a pack's file get these new bytes? Judged first in a copy, then written at once. Rule: authoring.md §15."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from bfcl.checks.report import as_problem
from bfcl.checks.static import static_findings
from bfcl.config.loaded import LoadedConfig
from bfcl.config.model import RunConfig
from bfcl.errors import PackError, Problem
from bfcl.files import replace_atomic, storage, temporary_directory
from bfcl.pack.layout import allowed_roots, shown
from bfcl.pack.load import read_pack
from bfcl.pack.model import Pack, Role
from bfcl.pack.own_config import OWN_CONFIG, load_own, wide_enough
from bfcl.records.verdict import Finding

_COMES_NEXT: Final = frozenset(("incomplete_validation_coverage", "schema_without_implementation"))
"""What a new tool lacks until its code and its probes are written, which nobody can do before the tool is there."""

_BUDGET: Final = "category_budget_too_small"
"""What a new template lacks where its category was full: one number in another file, told with its line."""

_BUDGETS: Final = frozenset(("category_budget_not_reachable",))
"""What would blame a configuration that nobody wrote."""

_NUMBER: Final = re.compile(r"\d+")


class Added(NamedTuple):
    """Which file grew, what the addition itself still lacks, and what deserves a look because of it."""

    path: Path
    lacking: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


class _Judged(NamedTuple):
    """What static checks say of a pack: errors, those that wait for more of what is new, warnings."""

    errors: list[Problem]
    lacking: list[Problem]
    warnings: list[Problem]


class _Eye(NamedTuple):
    """What a pack is judged with: its configuration, what is being added, and the tools that are not new.

    `first_case` says that a probe is added to a pack that has none.
    """

    loaded: LoadedConfig
    role: Role
    tools: frozenset[str]
    first_case: bool

    def comes_next(self, finding: Finding) -> bool:
        """Whether a finding only says what the addition needs besides."""
        if finding.code == _BUDGET:
            return self.role == "templates"
        if self.first_case and finding.code in _COMES_NEXT:
            # The pack had no probe at all before, and was told that in one word.
            return True
        return finding.code in _COMES_NEXT and finding.tool is not None and finding.tool not in self.tools


Grow: TypeAlias = Callable[[bytes, str], bytes]
"""A file's bytes, and how messages name it, to its new bytes; raises a refusal where text cannot be added."""


def added(root: Path, role: Role, grow: Grow) -> Added:
    """Give a file of the pack at `root` new bytes, unless it would then not load or have errors it did not have.

    Until the file is replaced, in one step, nothing of the pack is touched. Whoever calls holds the pack's directory
    (`held_directory`), so that additions made at the same time follow one another.
    Raises: PackError `append_impossible` followed by every new error; what `grow` raises; StageError `storage_failed`.
    """
    loaded, pack = load_own(root)
    path = pack.files[role].path
    first_case = role == "validation_cases" and not pack.cases
    eye = _Eye(loaded, role, frozenset(tool.name for tool in pack.tools), first_case)
    before = _judged(pack, loaded.config, eye)
    with storage(path):
        seen = path.read_bytes()
    data = grow(seen, shown(path))
    with _copied(pack, role, data) as top:
        after = _judged_copy(pack, top, eye)
    errors = _beyond(before.errors, after.errors)
    if errors:
        message = "nothing was added: with it the pack would have the errors that follow"
        told = Problem(code="append_impossible", path=shown(path), message=message)
        raise PackError([told, *errors])
    if not replace_atomic(path, seen, data):
        message = "nothing was added: another program changed the file meanwhile"
        fix = "run the same command again"
        raise PackError(Problem(code="append_impossible", path=shown(path), message=message, fix=fix))
    return Added(path, tuple(after.lacking), tuple(_beyond(before.warnings, after.warnings)))


@contextmanager
def _copied(pack: Pack, role: Role, data: bytes) -> Iterator[Path]:
    """A directory below which the pack lies at its own absolute path, with the new bytes; gone afterwards."""
    with temporary_directory("copy") as directory:
        top = Path(os.path.realpath(directory))
        with storage(top):
            for path in {*pack.paths.values(), *(file.path for file in pack.files.values())}:
                place = _below(top, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                if path == pack.files[role].path:
                    place.write_bytes(data)
                    continue
                # What is gone by now is found missing where anything needs it.
                with suppress(FileNotFoundError):
                    place.write_bytes(path.read_bytes())
        yield top


def _below(top: Path, path: Path) -> Path:
    # The whole path again, so that `../shared/tools.json` leads to the same place there.
    return top / path.relative_to(path.anchor)


def _judged_copy(pack: Pack, top: Path, eye: _Eye) -> _Judged:
    """The judgement of the copy, told as if it were the pack."""
    config = _config_below(eye.loaded, top)
    reading = read_pack(config, project=eye.loaded.project)
    if reading.pack is None or reading.problems:
        return _Judged([_as_of_the_pack(problem, top) for problem in reading.problems], [], [])
    given = (pack.root / OWN_CONFIG).is_file()
    judged = _judged(reading.pack, config if given else wide_enough(config, reading.pack), eye, root=pack.root)
    warnings = [_as_of_the_pack(problem, top) for problem in judged.warnings if given or problem.code not in _BUDGETS]
    return judged._replace(warnings=warnings)


def _config_below(loaded: LoadedConfig, top: Path) -> RunConfig:
    config = loaded.config
    given = dataclasses.asdict(config.oracle_pack)
    paths = {key: _below(top, Path(os.path.realpath(path))) for key, path in given.items() if path is not None}
    roots = (*allowed_roots(config, loaded.project), top)
    return dataclasses.replace(
        config,
        oracle_pack=dataclasses.replace(config.oracle_pack, **paths),
        oracle_runtime=dataclasses.replace(config.oracle_runtime, allowed_roots=roots),
    )


def _as_of_the_pack(problem: Problem, top: Path) -> Problem:
    message = problem.message.replace(str(top), "")
    if problem.path is None:
        return dataclasses.replace(problem, message=message)
    path = Path(problem.path).absolute()
    place = Path(path.anchor) / path.relative_to(top) if path.is_relative_to(top) else path
    return dataclasses.replace(problem, message=message, path=shown(place))


def _judged(pack: Pack, config: RunConfig, eye: _Eye, *, root: Path | None = None) -> _Judged:
    """What loading and static checks say; `root` is where to say it is."""
    found = [judged.found for judged in static_findings(pack, config)]
    failures = [finding for each in found for finding in each.failures]
    place = shown(root or pack.root)

    def told(findings: Sequence[Finding]) -> list[Problem]:
        return [_of_setting(eye.loaded, finding) or as_problem(finding, root=place) for finding in findings]

    return _Judged(
        errors=told([finding for finding in failures if not eye.comes_next(finding)]),
        lacking=told([finding for finding in failures if eye.comes_next(finding)]),
        warnings=[*pack.warnings, *told([finding for each in found for finding in each.warnings])],
    )


def _of_setting(loaded: LoadedConfig, finding: Finding) -> Problem | None:
    """A finding about a setting, with the line of the setting; None for any other."""
    if finding.setting is None:
        return None
    problem = Problem(code=finding.code, message=finding.message, subject=finding.setting, fix=finding.fix)
    return loaded.placed(problem)


def _beyond(before: Sequence[Problem], after: Sequence[Problem]) -> list[Problem]:
    """Problems of `after` that `before` does not have; a count in a message may have changed, and lines moved."""
    known = Counter(map(_kind, before))
    found = []
    for problem in after:
        kind = _kind(problem)
        if known[kind]:
            known[kind] -= 1
        else:
            found.append(problem)
    return found


def _kind(problem: Problem) -> tuple[str, str | None, str | None, str]:
    return problem.code, problem.path, problem.subject, _NUMBER.sub("0", problem.message)
