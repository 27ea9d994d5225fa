"""Identity blocks as a scoring configuration states them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from bfcl.errors import ConfigError
from bfcl.evaluate.after.identity import from_provider, from_registry, from_weights, write_fragment
from tests.evaluate.after.hub import hub
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import loaded, put

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_from_registry_pins_the_commit_that_the_name_means_now() -> None:
    body = f'{{"sha": "{COMMIT}"}}'.encode()
    with hub({"/api/models/Org/Kiln-7B/revision/main": (200, body)}) as there:
        found = from_registry("Org/Kiln-7B", "main", "huggingface", hub=there.address)
    assert found.to_json() == {
        "status": "pass",
        "model_identity": {"source": "huggingface", "model": "Org/Kiln-7B", "revision": COMMIT, "weights_digest": None},
        "assurance": "weights_pinned",
        "canonical_id": f"huggingface:Org/Kiln-7B@{COMMIT}",
        "identity_publication_gate": "satisfied",
    }


def test_from_weights_pins_the_digest_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights")
    found = from_weights("kiln-7b", tmp_path, "local")
    digest = found.identity.weights_digest
    assert digest is not None
    assert digest.startswith("bfcl-weight-manifest-v1:")
    assert (found.canonical_id, found.assurance, found.gate) == (
        f"local:kiln-7b@{digest}",
        "weights_pinned",
        "satisfied",
    )


def test_from_provider_pins_nothing_and_bars_publication() -> None:
    assert from_provider("large", "vendor").to_json() == {
        "status": "pass",
        "model_identity": {"source": "vendor", "model": "large", "revision": None, "weights_digest": None},
        "assurance": "provider_managed",
        "canonical_id": "vendor:large@provider_managed",
        "identity_publication_gate": "blocked",
    }


def test_a_fragment_loads_as_the_identity_it_says(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "model.bin").write_bytes(b"weights")
    found = from_weights("kiln-7b", tmp_path / "w", "local")
    write_fragment(found, tmp_path / "identity.yaml")
    block = yaml.safe_load((tmp_path / "identity.yaml").read_text())
    settings = loaded(tmp_path, put(("candidates", 0, "model_identity"), block["model_identity"]))
    (candidate,) = settings.candidates
    assert candidate.identity == found.identity
    assert (candidate.canonical_id, candidate.assurance) == (found.canonical_id, found.assurance)


def test_write_fragment_overwrites_nothing(tmp_path: Path) -> None:
    output = tmp_path / "identity.yaml"
    output.write_text("mine")
    with pytest.raises(ConfigError) as refusal:
        write_fragment(from_provider("large", "vendor"), output)
    assert str(refusal.value) == (
        f"{output}: target_exists: is there already; expected a path where nothing is\n"
        "  fix: choose another path; nothing that exists is overwritten"
    )
    assert output.read_text() == "mine"


def test_every_form_refuses_names_that_a_configuration_would_refuse() -> None:
    assert [str(problem) for problem in refused(lambda: from_provider(" large", "Vendor"))] == [
        "candidate_identity_invalid: --source: is 'Vendor'; expected 1 to 64 of a-z, 0-9, `.`, `_` and `-`, the first "
        "a letter or a digit\n  fix: give --source as a scoring configuration would state it",
        "candidate_identity_invalid: --model: is ' large'; expected a printable name without blanks around it\n"
        "  fix: give --model as a scoring configuration would state it",
    ]


@pytest.mark.parametrize("model", ["../up", "a/b/c", "org/", "org/kiln?x=1"])
def test_from_registry_refuses_what_is_no_name_of_the_hub(model: str) -> None:
    (problem,) = refused(lambda: from_registry(model, "main", "huggingface", hub="http://127.0.0.1:1"))
    assert str(problem) == (
        f"candidate_identity_invalid: --model: is {model!r}; expected `<organisation>/<model>` as the hub shows it\n"
        "  fix: give --model as a scoring configuration would state it"
    )
