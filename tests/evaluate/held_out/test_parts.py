"""The parts of a template are what binds a reserved row: all of it, and each task once."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.evaluate.held_out.parts import PartSources, parts
from bfcl.pack.held_out import reserved_refs
from bfcl.pack.model import HeldOut, Pack
from bfcl.records.template import Template
from bfcl.stages.bindings import Sources
from bfcl.stages.expand import ExpandSettings, expand_template, pool_size
from tests.evaluate.held_out.bench import studio
from tests.packs import ALL_POLICIES, ROW_LINKS, add_template

EVERYTHING = ExpandSettings(limit=10_000, seed=1, pack_id="kiln_studio", pack_version="1.0")
KILNS, FIRINGS = ("K-1", "K-2", "K-3", "K-8"), ("F-10", "F-11", "F-12", "F-13")
_SLOT = {"source": "fixture:kilns.kiln_id", "visible_in_first_turn": True}
TWO_KILNS = add_template("two_kilns", "kiln_status", slots={"kiln_id": _SLOT, "other": _SLOT})


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    root: Path = tmp_path_factory.mktemp("parts")
    return studio(root, TWO_KILNS, templates=(*ALL_POLICIES, *ROW_LINKS))


def reserving(pack: Pack, kilns: tuple[str, ...], firings: tuple[str, ...]) -> Pack:
    policy = HeldOut(
        version="1",
        fixtures={"firings": firings, "kilns": kilns},
        templates=(),
        fixtures_in_backend_state=True,
        seed=0,
        source="tree/held_out.yaml",
    )
    return dataclasses.replace(pack, held_out=policy)


def bound(template: Template, sources: Sources) -> list[tuple[str, tuple[str, ...]]]:
    try:
        size = pool_size(template, sources, EVERYTHING)
    except StageError:
        return []
    return [(task.task_id, task.fixture_refs) for task in expand_template(template, sources, EVERYTHING, range(size))]


@given(
    kilns=st.sets(st.sampled_from(KILNS)).map(lambda ids: tuple(sorted(ids))),
    firings=st.sets(st.sampled_from(FIRINGS)).map(lambda ids: tuple(sorted(ids))),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_bind_exactly_what_has_a_reserved_row(
    pack: Pack, kilns: tuple[str, ...], firings: tuple[str, ...]
) -> None:
    held = reserving(pack, kilns, firings)
    refs = reserved_refs(held.held_out)
    every = Sources(held.tools, held.fixtures, held.manifest)
    cut = PartSources(held)
    for template in held.templates:
        wanted = Counter(task_id for task_id, own in bound(template, every) if refs.intersection(own))
        seen = Counter(task_id for part in parts(template, held) for task_id, _ in bound(part, cut))
        assert seen == wanted, template.template_id


def test_parts_are_one_for_each_draw_from_a_collection_in_question(pack: Pack) -> None:
    held = reserving(pack, ("K-8",), ())
    count = {str(template.template_id): len(list(parts(template, held))) for template in held.templates}
    assert (count["two_kilns"], count["kiln_and_firing"], count["kiln_corrected"]) == (2, 1, 2)
    assert (count["kiln_of_firing"], count["kiln_unknown"], count["out_of_scope"]) == (0, 0, 0)


def test_parts_keep_the_filter_of_the_author(pack: Pack) -> None:
    held = reserving(pack, ("K-3", "K-8"), ())
    template = next(one for one in held.templates if one.template_id == "start_confirmed")
    (part,) = parts(template, held)
    # K-3 is busy, and the template asks for idle ones.
    assert {ref for _, refs in bound(part, PartSources(held)) for ref in refs} == {'["kilns","K-8"]'}
