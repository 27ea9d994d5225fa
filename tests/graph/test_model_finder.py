"""When the finder of a model asks for its registry and its credential."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.errors import ConfigError, ModelError
from bfcl.graph.model_finder import Asking, configured_finder, endpoint_finder
from bfcl.modelio.transport import HttpTransport
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.embedding import EndpointFinder
from bfcl.stages.balancing.finder import likeness
from bfcl.stages.balancing.lexical import LexicalFinder
from tests.packs import run_config

REGISTRY = (
    "providers: [{name: vendor, endpoint: 'http://127.0.0.1:9/v1', provider_type: openai, api_key: VENDOR_KEY}]\n"
)
NO_REGISTRY = (
    "model_provider_invalid: semantic_deduplication_config.model_identifier: `e5` is to be asked, but BFCL_MODEL_HOME "
    "and DATA_DESIGNER_HOME name no directory\n"
    "  fix: write `model_providers.yaml` into a directory and export BFCL_MODEL_HOME with its path"
)


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    opened = HttpTransport()
    yield opened
    opened.close()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a registry and without the credential it names."""
    (tmp_path / "model_providers.yaml").write_text(REGISTRY)
    return {"BFCL_MODEL_HOME": str(tmp_path)}


def test_registry_is_asked_for_at_once_where_rows_are_sure_to_be_compared(
    tmp_path: Path, transport: HttpTransport
) -> None:
    with pytest.raises(ConfigError) as refused:
        endpoint_finder("e5", tmp_path / "absent", Asking(transport, {}, 8, sure=True))
    assert str(refused.value) == NO_REGISTRY


def test_credential_is_asked_for_at_once_where_rows_are_sure_to_be_compared(
    tmp_path: Path, transport: HttpTransport, home: dict[str, str]
) -> None:
    with pytest.raises(ModelError) as refused:
        endpoint_finder("e5", tmp_path / "absent", Asking(transport, home, 8, sure=True))
    assert [problem.code for problem in refused.value.problems] == ["model_credential_missing"]


@pytest.mark.parametrize("texts", [{}, {TaskId("a"): "[user] hi"}])
def test_fewer_than_two_rows_need_no_registry_and_no_credential(
    tmp_path: Path, transport: HttpTransport, home: dict[str, str], texts: dict[TaskId, str]
) -> None:
    for environment in ({}, home):
        finder = endpoint_finder("e5", tmp_path / "absent", Asking(transport, environment, 8, sure=False))
        assert finder.prepare(lambda: texts) == finder.version
        assert likeness(finder, texts, 3, 0.1).embedding_signature is None
    assert not (tmp_path / "absent").exists()


def test_two_rows_need_the_registry_that_was_not_sure_to_be_needed(tmp_path: Path, transport: HttpTransport) -> None:
    finder = endpoint_finder("e5", tmp_path / "absent", Asking(transport, {}, 8, sure=False))
    with pytest.raises(ConfigError) as refused:
        finder.prepare(lambda: {TaskId("a"): "[user] hi", TaskId("b"): "[user] ho"})
    assert str(refused.value) == NO_REGISTRY


@pytest.mark.parametrize(
    ("identifier", "kind"), [("lexical:char-ngram-v1", LexicalFinder), ("endpoint:e5", EndpointFinder)]
)
def test_finder_is_the_one_that_the_configuration_names(
    tmp_path: Path,
    transport: HttpTransport,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    identifier: str,
    kind: type,
) -> None:
    monkeypatch.setenv("BFCL_MODEL_HOME", home["BFCL_MODEL_HOME"])
    monkeypatch.setenv("VENDOR_KEY", "a key that nobody asks for")
    config = run_config(tmp_path, semantic_deduplication_config__model_identifier=identifier)
    assert isinstance(configured_finder(config, tmp_path / "absent", transport), kind)
