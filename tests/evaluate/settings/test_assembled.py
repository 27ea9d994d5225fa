"""Settings have the hashes of their own sections, read anew or from a record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bfcl.digest import sha256_json
from bfcl.evaluate.settings.assembled import assembled
from bfcl.evaluate.settings.hashes import Declared, measurement_payload
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.publishing import Publication
from tests.evaluate.settings.builder import loaded, put, unpublished


def again(settings: EvalSettings) -> EvalSettings:
    """Made again of its own sections."""
    named = settings.hash_payload["source"]["oracle"]  # type: ignore[index, call-overload]
    declared = Declared(
        version=settings.schema_version,
        source=settings.source,
        oracle=settings.oracle,
        oracle_hashes=(named["pack_manifest"]["content_hash"], named["resource"]["content_hash"]),  # type: ignore[index, call-overload, arg-type]
        modes=settings.modes,
        scoring=settings.scoring,
        limits=settings.limits,
        repeats=settings.repeats,
        candidates=settings.candidates,
        contamination=settings.contamination,
        outputs=settings.outputs,
        held_out=settings.held_out,
    )
    publication = Publication(
        requested=settings.publication_requested,
        allowed=settings.publication_allowed,
        scope=settings.publication_scope,
        reasons=settings.non_publication_reasons,
    )
    return assembled(settings.path, declared, publication)


def test_settings_are_the_same_made_again_of_their_sections(tmp_path: Path) -> None:
    settings = loaded(tmp_path, unpublished)
    assert again(settings) == settings
    assert settings.eval_config_hash == sha256_json(settings.hash_payload)
    assert settings.measurement_hash == sha256_json(measurement_payload(settings.hash_payload))


def test_place_of_results_is_as_declared_and_in_no_hash(tmp_path: Path) -> None:
    settings = loaded(tmp_path, unpublished, put(("outputs", "output_dir"), "../out-{eval_config_hash}"))
    short = settings.eval_config_hash.removeprefix("sha256:")[:16]
    assert settings.outputs.output_dir.name == f"out-{short}"
    elsewhere = replace(settings, outputs=replace(settings.outputs, output_dir=tmp_path / "{eval_config_hash}"))
    assert again(elsewhere) == elsewhere
