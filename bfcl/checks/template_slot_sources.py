"""Check 2: can every slot and every correction be bound from what the pack holds? Rule: pack.md §4, §5.1, §5.6."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bfcl.canonical import Json, canonical_text
from bfcl.checks.findings import Findings, Subject, field_pointer, from_problem, placed, template_problem
from bfcl.errors import PackError, Problem
from bfcl.pack.fixtures import absent_id_problems, collection_rows, primary_key
from bfcl.pack.model import Pack, Role
from bfcl.pack.slots import SlotSource, parse_source
from bfcl.records.verdict import Finding
from bfcl.stages.bindings import Sources, sources_of
from bfcl.stages.held_out_bindings import bindable_templates
from bfcl.stages.slot_problems import slot_problems


def check(subject: Subject) -> Findings:
    """Primary keys and absent ids first, each told once; then every template's sources, filters, flags, corrections."""
    return findings(subject.pack)


def findings(pack: Pack) -> Findings:
    """What the check finds; no code of the pack runs."""
    failures = list(_collections(pack))
    told = {finding.code for finding in failures}
    sources = Sources(pack.tools, pack.fixtures, pack.manifest)
    bound = sources_of(pack)
    bindable = bindable_templates(pack.templates, pack.held_out)
    repeated = functools.cache(lambda source, filter_text: _repeated(bound, source, filter_text))
    warnings: list[Finding] = []
    for index, template in enumerate(pack.templates):
        warnings += _repeats(pack, index, repeated) if template in bindable else ()
        failures += [
            template_problem(pack, index, problem)
            for problem in slot_problems(template, sources)
            # Every slot that draws from a collection repeats what is wrong with its rows.
            if not (problem.code in _OF_ROWS and problem.code in told)
        ]
    return Findings(failures, warnings)


class _Repeated(NamedTuple):
    """What of a source's rows is said again and again."""

    rows: int
    values: int
    """Distinct ones."""
    most: str
    times: int
    """How often the value comes that comes most often."""


def _repeated(sources: Sources, source: str, filter_text: str | None) -> _Repeated | None:
    """None for a source that draws no rows, and where no value comes twice."""
    offered = sources.resolve(source, filter_text).candidates
    if offered.refs is None:
        return None
    counts = Counter(map(canonical_text, offered.values))
    value, times = max(counts.items(), key=lambda one: one[1], default=("", 0))
    return _Repeated(len(offered), len(counts), value, times) if times > 1 else None


def _repeats(pack: Pack, index: int, repeated: Callable[[str, str | None], _Repeated | None]) -> Iterator[Finding]:
    """A warning for each slot that draws one value from several rows: its tasks read alike, word for word.

    A slot from whose row others are taken is left out: they may differ.
    """
    template = pack.templates[index]
    arguments = [value for milestone in template.assistant_milestones for value in milestone.args.values()]
    leaders = {slot.same_row_as for slot in template.slots.values()} | set(map(_row_of, arguments))
    for name, slot in template.slots.items():
        if slot.same_row_as is not None or name in leaders:
            continue
        found = repeated(slot.source, slot.filter)
        if found is not None:
            finding = Finding(
                code="slot_value_repeats",
                message=f"slot `{name}` draws {found.rows} rows with {found.values} distinct values ({found.most} "
                f"comes {found.times} times); tasks that differ in nothing but their rows are published",
                template_id=template.template_id,
                fix="draw a field that tells rows apart, narrow the filter to one row a value, or list the values with "
                "`literal:`",
            )
            yield placed(pack, "templates", (index, "slots", name, "source"), finding)


def _row_of(value: Json) -> str | None:
    """The slot whose row an argument takes a field of, if it does."""
    marker = value.get("from_fixture") if isinstance(value, Mapping) else None
    slot = marker.get("slot") if isinstance(marker, Mapping) else None
    return slot if isinstance(slot, str) else None


_OF_ROWS = frozenset(
    {"primary_key_ambiguous", "fixture_row_missing_primary_key", "duplicate_primary_key", "absent_id_exists"}
)


def _collections(pack: Pack) -> Iterator[Finding]:
    """Rows that cannot be told apart, in collections that slots draw from; absent ids that are present, in any."""
    drawn = {source.collection for source in _sources(pack) if source.kind in ("fixture", "absent")}
    for name in pack.fixtures:
        rows = collection_rows(pack.fixtures, name)
        if not rows:
            continue
        try:
            key = primary_key(name, rows, pack.manifest)
        except PackError as error:
            if name in drawn:
                yield from (_found(pack, "fixtures", problem) for problem in error.problems)
            continue
        for problem in absent_id_problems(name, rows, key, pack.manifest):
            yield _found(pack, "manifest", problem)


def _sources(pack: Pack) -> Iterator[SlotSource]:
    for template in pack.templates:
        drawn = [slot.source for slot in template.slots.values()]
        drawn += [update.source for turn in template.user_simulator_turns for update in turn.slot_updates]
        for source in drawn:
            try:
                yield parse_source(source)
            except PackError:
                continue  # told by the slot's own problem


def _found(pack: Pack, role: Role, problem: Problem) -> Finding:
    pointer = field_pointer(pack.documents[role].value, problem.field)
    return placed(pack, role, pointer, from_problem(problem))
