"""`bfcl diff`: what differs between two packs?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from bfcl.authoring.pack_diff import PackDiff, RunManifest, Side, document, pack_diff, read_manifest, side_of_pack
from bfcl.authoring.pack_diff import reason as reason_of
from bfcl.authoring.pack_items import Change, Item, Sources
from bfcl.cli.grid import aligned
from bfcl.cli.place import project_root
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json
from bfcl.errors import Problem, ReleaseError
from bfcl.graph.layout import BuildTree
from bfcl.pack.fingerprint import check_drift
from bfcl.pack.layout import shown
from bfcl.pack.model import Pack
from bfcl.pack.own_config import load_own
from bfcl.stages.artifacts import MANIFEST_FILE

_CHANGES: Final[tuple[Change, ...]] = ("added", "removed", "changed")
_STYLES: Final[dict[Change, str]] = {"added": "green", "removed": "red", "changed": "yellow"}
_CHANGE: Final = 9
_WHOLE: Final = 200
"""Terminal columns of a path or digest: one that is cut says nothing."""
_ROWS: Final = 8
"""Rows of one collection, and details of one item, that text shows; the document has them all."""


@click.command
@click.argument("pack_a", type=click.Path(path_type=Path))
@click.argument("pack_b", type=click.Path(path_type=Path))
@click.option(
    "--manifest",
    "manifests",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A published run's manifest to place; may be repeated (default: every run below build/runs/).",
)
@click.option("--exit-code", is_flag=True, help="Status 2 where the two differ.")
@format_option()
def diff(*, pack_a: Path, pack_b: Path, manifests: tuple[Path, ...], exit_code: bool, format_: Format) -> int:
    """Compare two packs, file by file and item by item.

    PACK_A and PACK_B are pack directories, or run_manifest.json of published runs: then files alone are compared. Every
    file of a pack counts for its fingerprint; items are compared as loaded, so a comment is no difference. For each
    published run it says whether its pack is the first, the second, both or neither.

    \b
    Example:
      bfcl diff packs/my_pack ../released/my_pack
      bfcl diff build/runs/mine/run_manifest.json packs/my_pack --exit-code
    """
    a, b = _side(pack_a), _side(pack_b)
    found = pack_diff(a, b, [_manifest(path) for path in manifests or _built()])
    if as_json(format_):
        print_json(document(found))
    else:
        _sheet(found).print()
    return BELOW if exit_code and not found.equal else 0


def _side(path: Path) -> Side:
    if path.is_file() or (path / MANIFEST_FILE).is_file():
        return _manifest(path).side
    pack = load_own(path).pack
    # A pack of a service has no backend: nothing is defined there.
    sources = Sources(
        pack=pack,
        assertions=pack.code["assertions"],
        backend=pack.code.get("backend", b""),
        modules=_modules(pack),
    )
    return side_of_pack(str(path), sources)


def _modules(pack: Pack) -> dict[str, bytes]:
    """The pack's undeclared Python files, by their path below its root. Raises: DriftError `pack_drift`."""
    declared = {file.logical for file in pack.files.values()}
    wanted = [logical for logical in pack.entries if logical.endswith(".py") and logical not in declared]
    try:
        return {logical.removeprefix("tree/"): pack.paths[logical].read_bytes() for logical in wanted}
    except OSError:
        check_drift(pack)
        raise


def _manifest(path: Path) -> RunManifest:
    file = path / MANIFEST_FILE if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ReleaseError(Problem(code="release_manifest_missing", path=shown(file), message=message)) from None
    return read_manifest(shown(file), data)


def _built() -> list[Path]:
    """Manifests of published runs below `build/runs/`, by name."""
    return sorted((BuildTree(project_root(Path.cwd())).root / "runs").glob(f"*/{MANIFEST_FILE}"))


def _sheet(found: PackDiff) -> Sheet:
    sheet = Sheet()
    if found.equal:
        sheet.line(("equal", "bold green"), f"  {found.a.content_hash}")
    else:
        sheet.line(("different", "bold yellow"), f"  {reason_of(found.files)}")
    sides = [[side.name, f"{side.pack_id} {side.version}", side.content_hash] for side in (found.a, found.b)]
    for line in aligned(sides, widest=_WHOLE):
        sheet.line("  ", line)
    if found.files:
        sheet.heading("files")
        kinds = {True: "declared input", False: "undeclared file", None: ""}
        lines = aligned([[one.path, kinds[one.declared]] for one in found.files], widest=_WHOLE)
        for one, line in zip(found.files, lines, strict=True):
            sheet.line("  ", _word(one.change), line)
    for section, several in (found.items or {}).items():
        sheet.heading(section)
        if section == "fixtures":
            _rows(sheet, several)
        else:
            _items(sheet, several)
    if found.published:
        sheet.heading("published runs")
        for run in found.published:
            sheet.line(f"  {run.name}  ", (run.said, "red" if run.matches == "a" else ""))
    return sheet


def _word(change: Change) -> tuple[str, str]:
    return f"{change:<{_CHANGE}}", _STYLES[change]


def _items(sheet: Sheet, several: Sequence[Item]) -> None:
    for item in several:
        details = "; ".join(item.details[:_ROWS])
        more = f"; and {len(item.details) - _ROWS} more" if len(item.details) > _ROWS else ""
        sheet.line("  ", _word(item.change), item.name, f": {details}{more}" if details else "")


def _rows(sheet: Sheet, several: Sequence[Item]) -> None:
    """Values that are no collection, then each collection: how many rows, and the first of them."""
    _items(sheet, [item for item in several if item.group is None])
    for name in dict.fromkeys(item.group for item in several if item.group is not None):
        rows = [item for item in several if item.group == name]
        counts = Counter(item.change for item in rows)
        told = ", ".join(f"{counts[change]} {change}" for change in _CHANGES if counts[change])
        sheet.line((f"  {name}", "bold"), f"  {told}")
        for item in rows[:_ROWS]:
            details = f": {'; '.join(item.details)}" if item.details else ""
            sheet.line("    ", _word(item.change), item.name, details)
        if len(rows) > _ROWS:
            sheet.line(f"    and {len(rows) - _ROWS} more")
