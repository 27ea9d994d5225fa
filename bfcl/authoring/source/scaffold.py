"""What does a fresh source package consist of, and what is still to be decided in it? Rule: authoring.md §5.1.

Nothing here reads a clock, draws a number or asks a model: equal catalogs and options give equal bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bfcl.authoring.source.catalog import open_catalog, properties_of, read_catalog
from bfcl.authoring.source.check import SourceVerdict, check_source
from bfcl.authoring.source.closure import BACKEND
from bfcl.authoring.source.dependency_lock import DEPENDENCY_LOCK, EMPTY_LOCK
from bfcl.authoring.source.findings import SourceFinding, in_order
from bfcl.authoring.source.fixture_rows import FIXTURES
from bfcl.authoring.source.skeleton import ConfirmationWords, skeleton_backend
from bfcl.authoring.source.skeleton_rows import skeleton_rows
from bfcl.authoring.source.tree import SourceTree
from bfcl.canonical import Json, readable_json
from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.files import AlreadyThereError, create_files
from bfcl.records.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class SkeletonOptions:
    """What a person may choose of a skeleton. `rows` is at least 1."""

    collection: str = "records"
    rows: int = 3
    confirmation: ConfirmationWords = field(default_factory=ConfirmationWords)
    dependency_lock: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceScaffold:
    """A fresh source package: `files` to write by name, and what checking it finds."""

    files: Mapping[str, bytes]
    verdict: SourceVerdict
    findings: tuple[SourceFinding, ...]

    def document(self) -> dict[str, Json]:
        """The document of `scaffold-source-package`. No model took part, so its two keys are null."""
        return {
            "status": "pass",
            "written": sorted(self.files),
            "tools": self.verdict.tools,
            "drafted_with_model": False,
            "review_required": True,
            "findings": [finding.document() for finding in self.findings],
            "model_call": None,
            "model": None,
        }


def scaffold_source(tree: SourceTree, catalog: Path, options: SkeletonOptions) -> SourceScaffold:
    """Plan a source package in the directory of `tree`. Writes nothing.

    Raises: ConfigError `output_exists`, before anything is read; PackError `reviewed_schema_*` with every fault of the
    catalog, and every refusal of `check_source`.
    """
    raise_all(ConfigError, list(_obstacles(tree)))
    tools = read_catalog(open_catalog(catalog, str(catalog)), str(catalog), for_skeleton=True)
    rows = skeleton_rows(tools, without=options.confirmation.parameter, count=options.rows)
    files = {
        BACKEND: skeleton_backend(tools, options.confirmation).encode(),
        FIXTURES: readable_json({options.collection: rows}),
    }
    if options.dependency_lock and not os.path.lexists(tree.root / DEPENDENCY_LOCK):
        files[DEPENDENCY_LOCK] = EMPTY_LOCK
    verdict = check_source(SourceTree(root=tree.root, label=tree.label, planned=files), catalog=catalog)
    unconfirmed = _never_confirmed(tools, options.confirmation.parameter)
    return SourceScaffold(files=files, verdict=verdict, findings=in_order([*verdict.findings, *unconfirmed]))


def _obstacles(tree: SourceTree) -> Iterator[Problem]:
    if os.path.lexists(tree.root) and not tree.root.is_dir():
        yield _there(tree.label, "is there already and is no directory")
    for name in (BACKEND, FIXTURES):
        if os.path.lexists(tree.root / name):
            yield _there(tree.shown(name), "is there already; a scaffold overwrites nothing")


def _there(shown: str, message: str) -> Problem:
    return Problem(code="output_exists", path=shown, message=message, fix="move it away, or choose another `--output`")


def _never_confirmed(tools: Sequence[Tool], parameter: str) -> Iterator[SourceFinding]:
    for tool in tools:
        if tool.requires_confirmation and parameter not in properties_of(tool):
            detail = (
                f"`{tool.name}` asks for confirmation and has no parameter `{parameter}`, so it would wait for ever; "
                "name its parameter with `--confirmation-parameter`"
            )
            yield SourceFinding(code="confirmation_parameter_missing", detail=detail, file=BACKEND)


def write_source(tree: SourceTree, files: Mapping[str, bytes]) -> None:
    """Create the files, and the directory with its parents: all of it or nothing.

    Raises: StageError `storage_failed`; ConfigError `output_exists` where a file appeared meanwhile.
    """
    try:
        create_files(tree.root, files)
    except AlreadyThereError as error:
        name = tree.shown(error.path.relative_to(tree.root).as_posix())
        raise ConfigError(_there(name, "appeared while the package was written")) from None
