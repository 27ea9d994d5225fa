"""What did an evaluation record, line by line, and is all of it still as it was written? Rule: translation.md §13.6.

A log is a file of JSON lines, each with its own digest. Lines that are of use only together make a unit and are
appended in one write. Nothing is ever changed or mended; only places are kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from bfcl.digest import Digest
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.modelio.line_file import LineFile, Place
from bfcl.modelio.log_form import LogForm, LogRecord, UnfitError, Unit
from bfcl.modelio.own_file import OwnFile

_REMEDY: Final = "restore the file from a copy; a record is never mended, and a new output directory starts a new file"

Read_co = TypeVar("Read_co", covariant=True)


@dataclass(slots=True)
class _Open:
    """A unit whose end was not read yet."""

    begins: Place
    """Of its first line."""
    records: list[LogRecord]


class AppendLog(Generic[Read_co]):
    """The units of one file, as far as read: at the start, and again before each append."""

    def __init__(
        self, path: Path, form: LogForm, read: Callable[[Unit], Read_co], *, cut_short_passes: bool = False
    ) -> None:
        """Read the file, which may be absent.

        `read` makes of a unit what it says, and raises UnfitError where it does not hold together. Where
        `cut_short_passes`, what a crash left unfinished at the end is passed over; such a log takes no appends.
        Raises: EvalError `form.invalid_code`, `form.conflict_code`, each problem with its line.
        """
        self.path = path
        self.form = form
        self._file = OwnFile(path=path, error=EvalError, code=form.invalid_code, remedy=_REMEDY)
        self._followed = LineFile(self._file)
        self._read = read
        self._places: dict[tuple[str, str], Place] = {}
        self._faults: tuple[Problem, ...] = ()
        """Told once and again: nothing is appended to a file that does not hold."""
        self._cut_short_passes = cut_short_passes
        with self._followed.reading() as descriptor:
            if descriptor is not None:
                self._read_on(descriptor)

    def __len__(self) -> int:
        """How many units there are."""
        return len(self._places)

    def places(self) -> Collection[tuple[str, str]]:
        """(type of the first record, key) of each unit, in the order of the file."""
        return self._places.keys()

    def problem(self, record_type: str, key: str, message: str) -> Problem:
        """What is wrong with a unit, at its line."""
        return self._file.problem(self._places[record_type, key].line, message)

    def find(self, record_type: str, key: str) -> Read_co | None:
        """What the unit says that a record of that type begins, verified anew; None where there is none.

        Raises: EvalError `form.invalid_code` where the file changed.
        """
        place = self._places.get((record_type, key))
        if place is None:
            return None
        try:
            # Each was judged whole when it was read or written: since then no byte may have changed.
            unit = tuple(self.form.record(line, canonical=True) for line in self._lines(place))
            if unit and (unit[0].record_type, unit[0].key) == (record_type, key):
                return self._read(unit)
        except UnfitError:
            pass
        raise self._changed(place)

    def digests(self, record_type: str, key: str) -> tuple[Digest, ...]:
        """The `record_hash` of each record of a unit that is there, as its bytes are now; nothing is made of them.

        Raises: as `find`.
        """
        place = self._places[record_type, key]
        return self._digests(place, self._lines(place))

    def last(self, record_type: str, key: str) -> LogRecord:
        """The record that ends a unit that is there; of the others only digests are looked at. Raises: as `find`."""
        place = self._places[record_type, key]
        lines = self._lines(place)
        self._digests(place, lines)
        try:
            return self.form.record(lines[-1], canonical=True)
        except UnfitError:
            pass
        raise self._changed(place)

    def units(self) -> Iterator[Read_co]:
        """What every unit says, in the order of the file. Raises: as `find`."""
        for record_type, key in list(self._places):
            found = self.find(record_type, key)
            assert found is not None
            yield found

    def append(self, units: Sequence[Unit]) -> None:
        """Append units in one write that has reached the disk on return; those that are there already are passed over.

        Raises: EvalError `form.conflict_code` for another unit under a known key, and as on reading; StageError
        `storage_failed`. Nothing is appended then.
        """
        assert not self._cut_short_passes
        with self._followed.appending() as descriptor:
            self._read_on(descriptor)
            fresh = self._fresh(units)
            if fresh:
                self._followed.append(descriptor, b"".join(fresh.values()))
            for name, data in fresh.items():
                self._places[name] = self._followed.count(data)

    def _fresh(self, units: Sequence[Unit]) -> dict[tuple[str, str], bytes]:
        """The bytes of each unit that is not there yet."""
        fresh: dict[tuple[str, str], bytes] = {}
        for unit in units:
            name = unit[0].record_type, unit[0].key
            data = b"".join(self.form.line(record) for record in unit)
            place = self._places.get(name)
            before = fresh.setdefault(name, data) if place is None else self._followed.bytes_at(place)
            if before != data:
                raise EvalError(self._conflict(name, place))
        return fresh

    # --- reading ---

    def _read_on(self, descriptor: int) -> None:
        """Take in every unit behind those known."""
        self._faults += tuple(self._taken(self._followed.fresh(descriptor)))
        raise_all(EvalError, self._faults)

    def _taken(self, lines: Iterator[bytes]) -> Iterator[Problem]:
        """Note where units stand; every fault."""
        unit: _Open | None = None
        lost = False
        """After a line that cannot be read nobody knows what the next ones belong to, until a unit begins."""
        for data in lines:
            if not data.endswith(b"\n"):
                if not self._cut_short_passes:
                    line = self._followed.place(data).line
                    yield self._file.problem(line, "ends within a record: the file was cut short")
                unit = None
                break
            place = self._followed.count(data)
            try:
                record = self.form.record(data)
            except UnfitError as unfit:
                yield self._file.problem(place.line, str(unfit))
                unit, lost = None, True
                continue
            if record.record_type in self.form.begins:
                if unit is not None:
                    yield self._unfinished(unit)
                unit, lost = _Open(place, []), False
            elif unit is None or unit.records[0].key != record.key:
                if not lost:
                    yield self._file.problem(place.line, f"the `{record.record_type}` belongs to nothing before it")
                continue
            unit.records.append(record)
            if record.record_type in self.form.ends:
                yield from self._closed(unit, place.start + place.size)
                unit = None
        if unit is not None and not self._cut_short_passes:
            yield self._unfinished(unit)

    def _closed(self, unit: _Open, end: int) -> Iterator[Problem]:
        records = tuple(unit.records)
        place = unit.begins._replace(size=end - unit.begins.start)
        try:
            self._read(records)
        except UnfitError as unfit:
            yield self._file.problem(place.line + unfit.at, str(unfit))
            return
        name = records[0].record_type, records[0].key
        before = self._places.setdefault(name, place)
        if before is place:
            return
        if self._followed.bytes_at(before) == self._followed.bytes_at(place):
            yield self._file.problem(place.line, f"repeats what line {before.line} records")
        else:
            yield self._conflict(name, before, place.line)

    def _lines(self, place: Place) -> list[bytes]:
        return self._followed.bytes_at(place).splitlines(keepends=True)

    def _digests(self, place: Place, lines: Sequence[bytes]) -> tuple[Digest, ...]:
        try:
            # What is valid and yet not canonical is read whole.
            found = tuple(self.form.digest_in(line) or self.form.digest(self.form.record(line)) for line in lines)
        except UnfitError:
            found = ()
        if not found:
            raise self._changed(place)
        return found

    # --- refusals ---

    def _changed(self, place: Place) -> EvalError:
        return EvalError(self._file.problem(place.line, "changed while it was in use"))

    def _unfinished(self, unit: _Open) -> Problem:
        return self._file.problem(
            unit.begins.line, f"the `{unit.records[0].record_type}` has no `{'` or `'.join(sorted(self.form.ends))}`"
        )

    def _conflict(self, name: tuple[str, str], before: Place | None, line: int | None = None) -> Problem:
        where = "two records that came now differ" if before is None else f"line {before.line} records another"
        return Problem(
            code=self.form.conflict_code,
            path=str(self.path),
            line=line if line is not None or before is None else before.line,
            message=f"{where}: `{name[0]}` of {name[1]}; expected one for good",
            fix="keep the one that the result was made with; to ask again, take a new output directory",
        )
