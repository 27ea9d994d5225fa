"""`bfcl resolve-bfcl-model-identity`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Ended
from tests.evaluate.after.hub import hub

Bfcl = Callable[..., Ended]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
COMMAND = "resolve-bfcl-model-identity"


def test_registry_prints_the_block_and_writes_the_fragment(bfcl: Bfcl, project: Path) -> None:
    path = "/api/models/org/kiln-7b/revision/v1"
    with hub({path: (200, f'{{"sha": "{COMMIT}"}}'.encode())}) as there:
        asked = ("--model", "org/kiln-7b", "--revision", "v1", "--hub", there.address, "--output", "identity.yaml")
        ended = bfcl(COMMAND, "registry", *asked, "--format", "json")
    assert ended.status == 0
    assert json.loads(ended.out) == {
        "status": "pass",
        "model_identity": {"source": "huggingface", "model": "org/kiln-7b", "revision": COMMIT, "weights_digest": None},
        "assurance": "weights_pinned",
        "canonical_id": f"huggingface:org/kiln-7b@{COMMIT}",
        "identity_publication_gate": "satisfied",
    }
    assert (project / "identity.yaml").read_text() == (
        f"model_identity:\n  source: huggingface\n  model: org/kiln-7b\n  revision: {COMMIT}\n  weights_digest: null\n"
    )


def test_local_digests_a_directory(bfcl: Bfcl, project: Path) -> None:
    (project / "w").mkdir()
    (project / "w" / "model.bin").write_bytes(b"weights")
    ended = bfcl(COMMAND, "local", "--model", "kiln-7b", "--weights-dir", "w", "--format", "json")
    assert ended.status == 0
    told = json.loads(ended.out)
    assert told["model_identity"]["weights_digest"].startswith("bfcl-weight-manifest-v1:")
    assert told["canonical_id"] == f"local:kiln-7b@{told['model_identity']['weights_digest']}"


def test_provider_managed_tells_in_text_that_publication_is_blocked(bfcl: Bfcl) -> None:
    ended = bfcl(COMMAND, "provider-managed", "--source", "vendor", "--model", "large", "--format", "text")
    assert ended.status == 0
    assert ended.out == (
        "model_identity:\n"
        "  source: vendor\n"
        "  model: large\n"
        "  revision: null\n"
        "  weights_digest: null\n"
        "\n"
        "assurance                  provider_managed\n"
        "canonical_id               vendor:large@provider_managed\n"
        "identity_publication_gate  blocked\n"
    )


def test_failure_is_a_document_with_status_fail(bfcl: Bfcl) -> None:
    asked = ("--model", "kiln-7b", "--weights-dir", "nowhere", "--format", "json")
    ended = bfcl(COMMAND, "local", *asked)
    assert (ended.status, ended.err) == (1, "")
    told = json.loads(ended.out)
    assert (told["status"], told["code"], told["reason"]) == (
        "fail",
        "weights_tree_unsupported",
        "is no directory; expected one that holds weights",
    )


def test_output_is_never_overwritten(bfcl: Bfcl, project: Path) -> None:
    (project / "mine.yaml").write_text("mine")
    asked = ("--source", "vendor", "--model", "large", "--output", "mine.yaml", "--format", "text")
    ended = bfcl(COMMAND, "provider-managed", *asked)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "mine.yaml: target_exists: is there already; expected a path where nothing is\n"
        "  fix: choose another path; nothing that exists is overwritten\n"
    )
    assert (project / "mine.yaml").read_text() == "mine"
