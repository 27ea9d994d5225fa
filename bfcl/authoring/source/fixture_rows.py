"""Do the fixtures of a source package hold rows that tools can be probed with? Rule: authoring.md §7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.tree import SourceTree
from bfcl.located import Document, canonical_word, parse_json

FIXTURES: Final = "fixtures.json"


class FixtureLook(NamedTuple):
    """`collections` in name order; none where the package has no fixtures or they are no object."""

    collections: tuple[str, ...]
    findings: tuple[SourceFinding, ...]


def look_at_fixtures(tree: SourceTree) -> FixtureLook:
    """What `fixtures.json` holds; the file is optional.

    Raises: BfclError `fixture_metadata_invalid` where it is not JSON; PackError where it cannot be read.
    """
    data = tree.read(FIXTURES)
    if data is None:
        return FixtureLook((), ())
    document = parse_json(data, path=tree.shown(FIXTURES), code="fixture_metadata_invalid")
    findings = tuple(_findings(document))
    return FixtureLook(tuple(sorted(document.value)) if isinstance(document.value, dict) else (), findings)


def _findings(document: Document) -> Iterator[SourceFinding]:
    fixtures = document.value
    if not isinstance(fixtures, dict):
        seen = canonical_word(fixtures)
        yield _finding(
            document, (), "fixture_shape_invalid", f"the file holds {seen}; expected an object of collections"
        )
        return
    for name, rows in fixtures.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            detail = (
                f"`{name}` is {canonical_word(rows)}; an array of objects can be drawn from, this is only handed on"
            )
            yield _finding(document, (name,), "collection_not_rows", detail)
        elif len(rows) < 2:
            count = "one row" if rows else "no row"
            detail = f"`{name}` has {count}; with two or more it shows whether an answer depends on its argument"
            yield _finding(document, (name,), "collection_too_small", detail)


def _finding(document: Document, pointer: tuple[str, ...], code: str, detail: str) -> SourceFinding:
    return SourceFinding(code=code, detail=detail, file=FIXTURES, line=document.line(pointer))
