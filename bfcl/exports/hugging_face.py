"""The benchmark as a dataset repository for the Hugging Face Hub: table, card and Croissant. Rule: generation.md §7.

The directory is complete and goes up as it is. It has a table of its own, because `datasets` and the viewer of the Hub
refuse the map that the published table has for arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from bfcl.canonical import Json, readable_json
from bfcl.digest import Sha256Stream, sha256_file
from bfcl.exports.croissant import croissant
from bfcl.exports.dataset_card import CardFacts, about, dataset_card
from bfcl.exports.decode_row import decode_row
from bfcl.exports.format import Format, Piece, Truth, read_json, reading, truth_of
from bfcl.exports.row import ExportRow, Source
from bfcl.tables.hub import HubWriter, read_hub_rows

TABLE: Final = "data/test.parquet"
CARD: Final = "README.md"
CROISSANT: Final = "croissant.json"

SCHEMA_VERSION: Final = "1.0"


class DatasetWriter:
    """The table while rows come, the two descriptions once it is whole."""

    def __init__(self) -> None:
        self._table = HubWriter()
        self._digest = Sha256Stream()
        self._facts = CardFacts()

    def add(self, row: ExportRow) -> Iterable[Piece]:
        """Bytes of the table, mostly none."""
        self._facts.count(row)
        return self._pieces(self._table.add(row.published))

    def finish(self, source: Source) -> Iterable[Piece]:
        """The rest of the table, the card, the Croissant."""
        rest = self._pieces(self._table.finish())
        digest = self._digest.digest()
        card = dataset_card(source, self._facts, TABLE, digest)
        metadata = croissant(source, TABLE, digest, about(source, self._facts))
        return (*rest, Piece(CARD, card.encode()), Piece(CROISSANT, readable_json(metadata)))

    def _pieces(self, data: bytes) -> tuple[Piece, ...]:
        if not data:
            return ()
        self._digest.update(data)
        return (Piece(TABLE, data),)


def read_back(directory: Path) -> Iterator[Truth]:
    """The rows of the table, which has to be the one that both descriptions name. Raises: Unreadable."""
    with reading(CROISSANT):
        distribution = cast("list[Mapping[str, Json]]", read_json(directory / CROISSANT)["distribution"])
        described = [(file["contentUrl"], f"sha256:{file['sha256']}") for file in distribution]
        seen = [(TABLE, str(sha256_file(directory / TABLE)))]
        if described != seen:
            raise ValueError(f"describes {described}, seen {seen}")
    with reading(CARD):
        if seen[0][1] not in (directory / CARD).read_text(encoding="utf-8"):
            raise ValueError(f"does not name {seen[0][1]}")
    rows = read_hub_rows(directory / TABLE)
    number = 0
    while True:
        with reading(f"{TABLE} row {number}"):
            published = next(rows, None)
            if published is None:
                return
            row = decode_row(published)
            if isinstance(row, list):
                raise ValueError("; ".join(fault.message for fault in row))
        yield truth_of(row)
        number += 1


FORMAT: Final = Format(name="hugging_face", schema_version=SCHEMA_VERSION, writer=DatasetWriter, read_back=read_back)
