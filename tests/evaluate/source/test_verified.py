"""What passed its gates says what it is of; its identities are held apart in test_verify."""

from __future__ import annotations

from dataclasses import replace

from bfcl.digest import sha256_file
from bfcl.evaluate.source.verify import verify_source
from tests.evaluate.source.builder import Site


def test_verified_source_tells_the_run_that_made_it_and_each_file_that_was_relied_on(site: Site) -> None:
    verified = verify_source(site.settings(modes=("trace",)), probe_oracle=False)
    manifest = verified.manifest
    assert (verified.run_id, verified.oracle_clock) == (manifest["run_id"], manifest["oracle_clock"])
    assert verified.task_ids == tuple(row.task_id for row in verified.rows)
    assert set(verified.task_ids) <= set(verified.raw_ids)
    assert {name: sha256_file(verified.run_dir / name) for name in verified.files} == dict(verified.files)
    assert verified.files["run_manifest.json"] == verified.manifest_hash


def test_pack_of_a_verified_source_is_that_of_its_oracle_or_none(site: Site) -> None:
    verified = verify_source(site.settings(modes=("trace",)), probe_oracle=False)
    assert verified.oracle is not None
    assert verified.pack is verified.oracle.pack
    assert replace(verified, oracle=None).pack is None
