"""Who answers on this machine is settled before anything is computed, unless recorded replies may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.digest import Digest
from bfcl.errors import BfclError, ConfigError, ModelError
from bfcl.modelio.client import Client, LiveClient, ReplayClient
from bfcl.modelio.opening import open_client
from bfcl.modelio.transport import HttpTransport
from tests.embedding_server import saying, serving

GOOD = "providers: [{name: vendor, endpoint: 'https://h/v1', api_key: VENDOR_KEY}]"


def opened(tmp_path: Path, text: str | None, *, recorded: bool = False, **environment: str) -> Client:
    if text is not None:
        (tmp_path / "model_providers.yaml").write_text(text)
        environment["BFCL_MODEL_HOME"] = str(tmp_path)
    return open_client("e5", environment, HttpTransport(), subject="the.key", recorded=recorded)


def refusal(tmp_path: Path, text: str | None, error: type[BfclError], *, recorded: bool = False, **env: str) -> str:
    with pytest.raises(error) as caught:
        opened(tmp_path, text, recorded=recorded, **env)
    return str(caught.value)


NOBODY = (
    "model_provider_invalid: the.key: `e5` is to be asked, but BFCL_MODEL_HOME and DATA_DESIGNER_HOME name no "
    "directory\n  fix: write `model_providers.yaml` into a directory and export BFCL_MODEL_HOME with its path"
)


def test_missing_registry_is_refused_at_once_where_nothing_is_recorded(tmp_path: Path) -> None:
    assert refusal(tmp_path, None, ConfigError) == NOBODY
    assert refusal(tmp_path, None, ConfigError, BFCL_MODEL_HOME="/none") == NOBODY.replace(
        "BFCL_MODEL_HOME and DATA_DESIGNER_HOME name no directory", "/none/model_providers.yaml is not there"
    )


def test_missing_registry_is_told_on_the_first_request_where_replies_are_recorded(tmp_path: Path) -> None:
    client = opened(tmp_path, None, recorded=True)
    assert isinstance(client, ReplayClient)
    with pytest.raises(ConfigError) as caught:
        client.post("x", {}, Digest("sha256:0"))
    assert str(caught.value) == NOBODY


def test_missing_credential_is_refused_at_once_where_nothing_is_recorded(tmp_path: Path) -> None:
    assert refusal(tmp_path, GOOD, ModelError).startswith("model_credential_missing: VENDOR_KEY: ")
    assert isinstance(opened(tmp_path, GOOD, recorded=True), LiveClient)
    assert isinstance(opened(tmp_path, GOOD, VENDOR_KEY="x"), LiveClient)


@pytest.mark.parametrize("recorded", [False, True])
def test_registry_that_is_wrong_is_refused_at_once(tmp_path: Path, recorded: bool) -> None:
    text = "providers: [{name: a, endpoint: 'https://h/v1/embeddings'}]"
    assert "model_endpoint_invalid" in refusal(tmp_path, text, ConfigError, recorded=recorded)


def test_scripted_provider_answers_no_such_request(tmp_path: Path) -> None:
    text = "providers: [{name: tape, endpoint: 'http://h', provider_type: scripted}]"
    assert refusal(tmp_path, text, ConfigError) == (
        "model_provider_invalid: the.key: the provider `tape` is of the type `scripted`; expected openai, which alone "
        f"answers requests of this kind\n  fix: name a provider of the type openai in {tmp_path}/model_providers.yaml"
    )


def test_provider_without_a_credential_is_asked(tmp_path: Path) -> None:
    with serving(saying(b"1")) as server, HttpTransport() as transport:
        (tmp_path / "model_providers.yaml").write_text(f"providers: [{{name: local, endpoint: '{server.url}'}}]")
        environment = {"DATA_DESIGNER_HOME": str(tmp_path)}
        client = open_client("e5", environment, transport, subject="the.key", recorded=False)
        assert client.post("x", {}, Digest("sha256:0")) == 1
