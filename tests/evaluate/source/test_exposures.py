"""Gate fourteen: which models had a hand in which rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bfcl.canonical import canonical_text
from bfcl.digest import sha256_json
from bfcl.evaluate.source.exposures import Exposure, read_exposures
from bfcl.evaluate.source.tables import read_tables
from bfcl.release.read import open_release
from tests.evaluate.source.builder import Data, Site, drop, put, role

GATE = (
    " (gate fourteen, the inventory of models)\n  fix: generate the benchmark again; published files are never edited"
)
HELPER = "hub:org/helper@provider_managed"


def exposures(site: Site) -> Callable[[], tuple[Exposure, ...]]:
    release = open_release(site.run_dir)
    tables = read_tables(release, site.settings(trace_only=True).source)
    return lambda: read_exposures(release.manifest, tables.rows, site.manifest_path)


def refused(site: Site, *told: str) -> None:
    assert site.told(exposures(site)) == [
        f"run/run_manifest.json: eval_source_model_exposure_invalid: {one}{GATE}" for one in told
    ]


def profiled(row: Data) -> Data:
    return {**row, "metadata": canonical_text({**json.loads(row["metadata"]), "profile_hash": "sha256:p"})}


def reworded(row: Data) -> Data:
    metadata = {**json.loads(row["metadata"]), "surface_source": "model"}
    return {
        **row,
        "paraphrase_model": "helper",
        "paraphrase_model_canonical": HELPER.upper(),
        "metadata": canonical_text(metadata),
    }


def test_a_benchmark_without_roles_is_exposed_to_nobody(site: Site) -> None:
    assert exposures(site)() == ()


def test_a_profile_covers_the_rows_that_name_it(site: Site) -> None:
    site.edit_rows(profiled, first=3)
    site.edit_manifest(put(("models", "profile"), role()), put(("profile_influenced_surface",), True))
    (found,) = exposures(site)()
    assert (found.role, found.canonical_id, found.model) == ("profile", HELPER, "org/helper")
    assert found.task_ids == tuple(row["task_id"] for row in site.rows()[:3])
    assert found.to_json() == {
        "role": "profile",
        "canonical_id": HELPER,
        "provider": "vendor",
        "model_identity": {"source": "hub", "model": "org/helper", "revision": None, "weights_digest": None},
        "task_count": 3,
        "task_ids_hash": sha256_json([row["task_id"] for row in site.rows()[:3]]),
    }


def test_a_paraphraser_covers_the_rows_that_name_it_in_any_case(site: Site) -> None:
    site.edit_rows(reworded, first=2)
    site.edit_manifest(put(("models", "paraphrase"), role()))
    (found,) = exposures(site)()
    assert (found.role, found.task_ids) == ("paraphrase", tuple(row["task_id"] for row in site.rows()[:2]))


def test_a_judge_covers_every_row_where_judging_was_on(site: Site) -> None:
    site.edit_manifest(
        put(("models", "surface_judge"), role()),
        # Said to be on without its artifacts, the release would not open; without the key it counts as on.
        put(("surface_quality_validation", "enabled"), False),
    )
    assert exposures(site)() == ()
    release = open_release(site.run_dir)
    tables = read_tables(release, site.settings(trace_only=True).source)
    judged = {**release.manifest, "surface_quality_validation": {"enabled": True}}
    (found,) = read_exposures(judged, tables.rows, site.manifest_path)
    assert (found.role, found.task_ids) == ("surface_judge", tuple(row.task_id for row in tables.rows))


@pytest.mark.parametrize("name", ["profile", "paraphrase"])
def test_a_role_that_covers_no_row_is_no_exposure(name: str, site: Site) -> None:
    site.edit_manifest(put(("models", name), role()))
    assert exposures(site)() == ()


def test_gate_fourteen_wants_exactly_the_three_roles(site: Site) -> None:
    site.edit_manifest(drop("models", "profile"), put(("models", "translator"), role()))
    refused(
        site,
        "models names paraphrase, surface_judge, translator; expected exactly profile, paraphrase, surface_judge",
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"enabled": "yes"}, 'models.profile.enabled is "yes"; expected true or false'),
        (
            {"canonical_id": None},
            'models.profile.model_identity is {"model":"org/helper","revision":null,"source":"hub",'
            '"weights_digest":null} with canonical_id null; expected both to name the model of an enabled role',
        ),
        (
            {"model_identity": None},
            f'models.profile.model_identity is null with canonical_id "{HELPER}"; expected both to name the model of '
            "an enabled role",
        ),
        (
            {"model_identity": {"model": 3}},
            f'models.profile.model_identity is {{"model":3}} with canonical_id "{HELPER}"; expected both to name the '
            "model of an enabled role",
        ),
    ],
)
def test_gate_fourteen_refuses_an_enabled_role_without_a_model(change: Data, told: str, site: Site) -> None:
    site.edit_rows(profiled)
    site.edit_manifest(put(("models", "profile"), {**role(), **change}), put(("profile_influenced_surface",), True))
    refused(site, told)


def test_gate_fourteen_refuses_a_block_that_is_none(site: Site) -> None:
    site.edit_manifest(put(("models", "paraphrase"), 3))
    refused(site, "models.paraphrase.enabled is null; expected true or false")


def test_gate_fourteen_refuses_rows_of_a_profile_that_is_off(site: Site) -> None:
    site.edit_rows(profiled, first=1)
    site.edit_manifest(put(("profile_influenced_surface",), True))
    told = f"models.profile is off, and row `{site.rows()[0]['task_id']}` has profile hash sha256:p"
    refused(site, told)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({}, f"`{HELPER.upper()}`"),
        ({"paraphrase_model_canonical": None}, "no model"),
        ({"paraphrase_model_canonical": None, "paraphrase_model": None}, "no model"),
    ],
)
def test_gate_fourteen_refuses_rows_of_a_paraphraser_that_is_off(columns: Data, named: str, site: Site) -> None:
    site.edit_rows(lambda row: {**reworded(row), **columns}, first=1)
    refused(site, f"models.paraphrase is off, and row `{site.rows()[0]['task_id']}` names {named} for its wording")


def test_gate_fourteen_refuses_rows_of_another_paraphraser(site: Site) -> None:
    site.edit_rows(reworded, first=1)
    site.edit_manifest(put(("models", "paraphrase"), role("org/another")))
    refused(
        site,
        "models.paraphrase.canonical_id is `hub:org/another@provider_managed`, and row "
        f"`{site.rows()[0]['task_id']}` names `{HELPER.upper()}` for its wording",
    )


@pytest.mark.parametrize(
    ("stated", "first", "told"),
    [
        (True, 0, "profile_influenced_surface is true, and no row has a profile hash"),
        (False, 1, "profile_influenced_surface is false, and some row has a profile hash"),
        (None, 0, "profile_influenced_surface is null, and no row has a profile hash"),
    ],
)
def test_gate_fourteen_refuses_a_manifest_that_contradicts_its_rows(
    stated: Any, first: int, told: str, site: Site
) -> None:
    site.edit_rows(profiled, first=first)
    site.edit_manifest(put(("models", "profile"), role()), put(("profile_influenced_surface",), stated))
    refused(site, told)


def test_gate_fourteen_tells_of_every_fault_at_once(site: Site) -> None:
    site.edit_rows(reworded, first=2)
    site.edit_manifest(put(("models", "profile"), {}), put(("profile_influenced_surface",), True))
    codes = [one.split(": ")[2].split(" is ")[0] for one in site.told(exposures(site))]
    assert codes == [
        "models.profile.enabled",
        "profile_influenced_surface",
        "models.paraphrase",
        "models.paraphrase",
    ]
