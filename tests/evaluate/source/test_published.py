"""Gates three to five: the run manifest is whole, as configured, and publishes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from bfcl.digest import Digest, sha256_file, sha256_of
from bfcl.evaluate.settings.model import ClaimedSource
from bfcl.evaluate.source.published import open_source
from tests.evaluate.refusals import refused
from tests.evaluate.source.builder import Edit, Site, drop, put

MANIFEST = "run/run_manifest.json: "
STRUCTURE = " (gate three, the manifest's structure)\n  fix: "
DRIFT = (
    " (gate four, the manifest as configured)"
    "\n  fix: start the evaluation again, so that it is configured for the benchmark that lies there now"
)
PUBLICATION = " (gate five, the publication block)\n  fix: "
NAME_IT = "set `source_run_manifest` to the run_manifest.json of a finished run"
NEVER = "generate the benchmark again; never edit a manifest"
REGENERATE = "generate the benchmark again; published files are never edited"
KINDS: dict[str, str] = {
    **dict.fromkeys(("artifacts", "held_out", "models", "oracle", "pack", "publication"), "an object"),
    "gold_eligible": "true or false",
}
REQUIRED = (
    *KINDS,
    "created_at",
    "generation_config_hash",
    "lineage_policy",
    "oracle_clock",
    "resolved_config_hash",
    "run_id",
    "schema_version",
    "tier",
)


def refusal(site: Site, source: ClaimedSource) -> list[str]:
    """Every problem of the release that a configuration names, line numbers cut out."""
    return [re.sub(r"\.json:\d+:", ".json:", one) for one in site.told(lambda: open_source(source))]


def forged(site: Site, edit: Edit) -> list[str]:
    """What is said of a manifest that was edited before the configuration was read."""
    source = site.settings().source
    site.edit_manifest(edit)
    return refusal(site, dataclasses.replace(source, manifest_hash=sha256_file(site.manifest_path)))


def test_open_source_gives_the_release_and_the_digest_of_its_manifest(site: Site) -> None:
    opened = open_source(site.settings().source)
    assert opened.release.manifest == site.manifest()
    assert opened.manifest_hash == sha256_file(site.manifest_path)


@pytest.mark.parametrize("key", REQUIRED)
def test_gate_three_refuses_a_manifest_without_a_key(key: str, site: Site) -> None:
    told = f"{key} is missing, expected {KINDS.get(key, 'text')}"
    assert forged(site, drop(key)) == [f"{MANIFEST}eval_source_manifest_invalid: {told}{STRUCTURE}{NEVER}"]


@pytest.mark.parametrize(
    ("place", "value", "told", "fix"),
    [
        (("schema_version",), "9", "schema_version is '9', this version reads '1.1'", NEVER),
        (("run_id",), " ", "run_id is blank; expected an id", REGENERATE),
        (("pack", "pack_id"), "", 'pack.pack_id is ""; expected text', REGENERATE),
        (("pack", "version"), None, "pack.version is null; expected text", REGENERATE),
        (
            ("pack", "content_hash"),
            "md5:1",
            'pack.content_hash is "md5:1"; expected `sha256:` and 64 hex digits',
            REGENERATE,
        ),
        (("pack", "files"), [], "pack.files is no object of digests; expected every file of the pack", REGENERATE),
        (("oracle", "kind"), "magic", 'oracle.kind is "magic"; expected `python` or `endpoint`', REGENERATE),
    ],
)
def test_gate_three_refuses_a_value_that_later_gates_read(
    place: tuple[str, ...], value: Any, told: str, fix: str, site: Site
) -> None:
    wanted = [f"{MANIFEST}eval_source_manifest_invalid: {told}{STRUCTURE}{fix}"]
    assert forged(site, put(place, value)) == wanted


@pytest.mark.parametrize(
    ("content", "told", "fix"),
    [
        (b"[]", "holds no JSON object; expected a run manifest", NAME_IT),
        (b"{", "not JSON: Expecting property name enclosed in double quotes", REGENERATE),
        (b'{"a": 1, "a": 2}', "key 'a' is given twice in one object", "keep one of the two"),
        (None, "is missing or no regular file; expected the manifest of a published run", NAME_IT),
    ],
)
def test_gate_three_refuses_what_is_no_manifest(content: bytes | None, told: str, fix: str, site: Site) -> None:
    source = site.settings().source
    site.manifest_path.unlink()
    if content is not None:
        site.manifest_path.write_bytes(content)
    assert refusal(site, source) == [f"{MANIFEST}eval_source_manifest_invalid: {told}{STRUCTURE}{fix}"]


def test_gate_three_refuses_a_link(site: Site) -> None:
    source = site.settings().source
    elsewhere = site.manifest_path.rename(site.root / "elsewhere.json")
    site.manifest_path.symlink_to(elsewhere)
    told = "is missing or no regular file; expected the manifest of a published run"
    assert refusal(site, source) == [f"{MANIFEST}eval_source_manifest_invalid: {told}{STRUCTURE}{NAME_IT}"]


def test_gate_three_refuses_another_name(site: Site) -> None:
    source = dataclasses.replace(site.settings().source, manifest=site.run_dir / "manifest.json")
    told = "is called `manifest.json`; expected `run_manifest.json`"
    assert refusal(site, source) == [f"run/manifest.json: eval_source_manifest_invalid: {told}{STRUCTURE}{NAME_IT}"]


def test_gate_four_refuses_a_manifest_of_other_bytes(site: Site) -> None:
    source = site.settings().source
    site.manifest_path.write_bytes(site.manifest_path.read_bytes() + b"\n")
    now = sha256_file(site.manifest_path)
    told = f"the file has {now}, the configuration was read against {source.manifest_hash}"
    assert refusal(site, source) == [f"{MANIFEST}eval_source_manifest_drift: {told}{DRIFT}"]


@pytest.mark.parametrize(
    ("field", "claim", "key", "value"),
    [
        ("run_id", "run_id", '"other"', "other"),
        ("benchmark_schema_version", "schema_version", '"1.0"', "1.0"),
        ("lineage_policy", "lineage_policy", '"other"', "other"),
        ("gold_eligible", "gold_eligible", "false", False),
    ],
)
def test_gate_four_refuses_what_the_configuration_read_otherwise(
    field: str, claim: str, key: str, value: Any, site: Site
) -> None:
    source = dataclasses.replace(site.settings().source, **{field: value})
    stated = {"gold_eligible": "true"}.get(claim) or f'"{site.manifest()[claim]}"'
    told = f"{claim} is {stated}, the configuration was read against {key}"
    assert refusal(site, source) == [f"{MANIFEST}eval_source_manifest_drift: {told}{DRIFT}"]


def test_structure_is_judged_before_drift_and_drift_before_publication(site: Site) -> None:
    source = site.settings().source
    site.edit_manifest(put(("publication", "verified"), False))
    assert {one.split(": ")[1] for one in refusal(site, source)} == {"eval_source_manifest_drift"}
    site.edit_manifest(drop("tier"))
    assert {one.split(": ")[1] for one in refusal(site, source)} == {"eval_source_manifest_invalid"}


@pytest.mark.parametrize(
    ("place", "value", "told", "fix"),
    [
        (("publication", "verified"), False, "publication.verified is not true", NEVER),
        (
            ("publication", "schema_version"),
            "2.0",
            'publication.schema_version is "2.0", expected "1.0"',
            REGENERATE,
        ),
        (
            ("publication", "restated_fields"),
            ["tier"],
            'publication.restated_fields is ["tier"], expected []',
            REGENERATE,
        ),
        (
            ("publication", "published", "held_out_evaluated"),
            True,
            "publication.published.held_out_evaluated is true, expected false",
            REGENERATE,
        ),
        (("held_out", "evaluated"), "yes", "held_out.evaluated is not true or false", NEVER),
        (
            ("publication", "published", "ordering"),
            "selection_rank",
            'publication.published.ordering is "selection_rank", expected "raw_order"',
            REGENERATE,
        ),
    ],
)
def test_gate_five_refuses_a_publication_that_is_none(
    place: tuple[str, ...], value: Any, told: str, fix: str, site: Site
) -> None:
    wanted = [f"{MANIFEST}eval_source_publication_invalid: {told}{PUBLICATION}{fix}"]
    assert forged(site, put(place, value)) == wanted


def test_gate_six_refuses_a_manifest_that_declares_two_digests(site: Site) -> None:
    other: Digest = sha256_of(b"other")
    stated = site.manifest()["artifacts"]["benchmark_raw_parquet"]["content_hash"]
    told = f'differs from artifacts.benchmark_raw_parquet.content_hash: {stated}; it is "{other}"'
    assert forged(site, put(("publication", "raw", "content_hash"), other)) == [
        f"{MANIFEST}eval_source_benchmark_hash_mismatch: publication.raw.content_hash {told}"
        f" (gate six, the bytes of both tables)\n  fix: {NEVER}"
    ]


def test_refusals_name_the_field_and_its_line(site: Site) -> None:
    source = site.settings().source
    site.edit_manifest(put(("oracle", "kind"), "magic"))
    (problem,) = refused(lambda: open_source(source))
    line = next(n for n, one in enumerate(site.manifest_path.read_text().splitlines(), 1) if '"magic"' in one)
    assert (problem.field, problem.line) == ("oracle.kind", line)
