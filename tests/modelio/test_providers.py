"""The registry of providers: what is read, what is refused without being shown, and whom a model's name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ConfigError
from bfcl.modelio.providers import Provider, Registry, read_registry, registry_path, route_to

LOCAL = "  - {name: local, endpoint: 'http://127.0.0.1:8000/v1/'}\n"
VENDOR = "  - {name: vendor, endpoint: 'https://api.example.org/v1', provider_type: openai, api_key: VENDOR_KEY}\n"


def registry(tmp_path: Path, text: str) -> Registry:
    path = tmp_path / "model_providers.yaml"
    path.write_text(text, encoding="utf-8")
    return read_registry(path)


def refusals(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        registry(tmp_path, text)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def route(tmp_path: Path, text: str, name: str) -> tuple[str, str]:
    found = route_to(registry(tmp_path, text), name, subject="the.key")
    return found.provider.name, found.model


def test_registry_is_in_the_directory_of_the_first_variable_that_is_set() -> None:
    assert registry_path({}) is None
    assert registry_path({"BFCL_MODEL_HOME": ""}) is None
    assert registry_path({"DATA_DESIGNER_HOME": "/b"}) == Path("/b/model_providers.yaml")
    assert registry_path({"BFCL_MODEL_HOME": "/a", "DATA_DESIGNER_HOME": "/b"}) == Path("/a/model_providers.yaml")


def test_entries_are_read_with_their_defaults(tmp_path: Path) -> None:
    found = registry(tmp_path, f"default: vendor\nproviders:\n{LOCAL}{VENDOR}")
    assert found.default == "vendor"
    assert found.providers == (
        Provider(name="local", endpoint="http://127.0.0.1:8000/v1", provider_type="openai", api_key=None),
        Provider(name="vendor", endpoint="https://api.example.org/v1", provider_type="openai", api_key="VENDOR_KEY"),
    )


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "[]",
            [
                "model_providers.yaml:1: model_provider_invalid: the file is <list, 0>; expected a mapping with "
                "`providers`"
            ],
        ),
        (
            "providers: []",
            [
                "model_providers.yaml:1: model_provider_invalid: `providers` is <list, 0>; expected a list of at least "
                "one provider"
            ],
        ),
        (
            f"providers:\n{LOCAL}{LOCAL}",
            ["model_providers.yaml:3: model_provider_invalid: the provider `local` is there already"],
        ),
        (
            "providers:\n  - name: ' a'\n    endpoint: http://h\n    provider_type: azure\n    key: x\n",
            [
                "model_providers.yaml:5: model_provider_invalid: unknown key `key` in `providers.0`\n"
                "  fix: did you mean `api_key`?",
                "model_providers.yaml:2: model_provider_invalid: `providers.0.name` is <str, 2>; expected non-empty "
                "text without `/` or blanks around it",
                "model_providers.yaml:4: model_provider_invalid: `providers.0.provider_type` is <str, 5>; expected "
                "openai or scripted",
            ],
        ),
        (
            f"default: locale\nproviders:\n{LOCAL}{VENDOR}",
            [
                "model_providers.yaml:1: model_provider_invalid: `default` is <str, 6>; expected the name of a "
                "provider: local, vendor\n  fix: did you mean `local`?"
            ],
        ),
    ],
    ids=["no mapping", "no providers", "twice", "fields", "default"],
)
def test_misshapen_registry_is_refused_with_every_problem(tmp_path: Path, text: str, messages: list[str]) -> None:
    assert refusals(tmp_path, text) == messages


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("ftp://h/v1", '"ftp://h/v1", which has the scheme `ftp`'),
        ("//h/v1", '"//h/v1", which has no scheme'),
        ("https:///v1", '"https:///v1", which names no host'),
        ("https://h:x/v1", '"https://h:x/v1", which is no address'),
        ("https://h /v1", '"https://h /v1", which holds white space or control characters'),
        ("https://user:hunter2@h/v1", "<str, 25>, which names a user"),
        ("https://h/v1?key=hunter2", "<str, 24>, which has a query"),
        ("https://h/v1#hunter2", "<str, 20>, which has a fragment"),
    ],
)
def test_endpoint_that_is_no_plain_root_is_refused_and_its_secrets_are_not_shown(
    tmp_path: Path, endpoint: str, message: str
) -> None:
    assert refusals(tmp_path, f"providers: [{{name: a, endpoint: '{endpoint}'}}]") == [
        f"model_providers.yaml:1: model_endpoint_invalid: `providers.0.endpoint` is {message}; expected an http(s) "
        "address without user or query\n  fix: write the API root, like `https://models.example.org/v1`"
    ]


@pytest.mark.parametrize("route", ["/chat/completions", "/embeddings"])
def test_endpoint_that_holds_the_route_is_refused_with_the_root(tmp_path: Path, route: str) -> None:
    assert refusals(tmp_path, f"providers: [{{name: a, endpoint: 'https://h/v1{route}/'}}]") == [
        f"model_providers.yaml:1: model_endpoint_invalid: `providers.0.endpoint` ends in `{route}`, which the client "
        "adds itself\n  fix: write `https://h/v1`"
    ]


@pytest.mark.parametrize("value", ["sk-4f9a8b7c6d5e4f3a", "hf_abcdefABCDEF", "[1]", "12", "''"])
def test_credential_in_place_of_a_variable_is_refused_unechoed(tmp_path: Path, value: str) -> None:
    (found,) = refusals(tmp_path, f"providers: [{{name: a, endpoint: 'https://h', api_key: {value}}}]")
    assert "model_provider_invalid: `providers.0.api_key` is <" in found
    assert "expected the name of an environment variable: capitals, digits and `_`" in found
    assert value not in found


def test_broken_yaml_and_missing_file_are_refused(tmp_path: Path) -> None:
    (found,) = refusals(tmp_path, "providers: [")
    assert found == "model_providers.yaml:2: model_provider_invalid: not YAML: did not find expected node content"
    with pytest.raises(ConfigError) as caught:
        read_registry(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: model_provider_invalid: cannot be read: Is a directory\n"
        "  fix: make `model_providers.yaml` readable in the directory that `BFCL_MODEL_HOME` names"
    )


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        (f"providers:\n{LOCAL}", "BAAI/bge-m3", ("local", "BAAI/bge-m3")),
        (f"providers:\n{LOCAL}", "local/BAAI/bge-m3", ("local", "BAAI/bge-m3")),
        (f"providers:\n{LOCAL}{VENDOR}", "vendor/e5", ("vendor", "e5")),
        (f"default: local\nproviders:\n{LOCAL}{VENDOR}", "e5:latest", ("local", "e5:latest")),
        (f"default: local\nproviders:\n{LOCAL}{VENDOR}", "Vendor/e5", ("local", "Vendor/e5")),
    ],
)
def test_name_means_a_provider_it_starts_with_or_the_only_or_the_default_one(
    tmp_path: Path, text: str, name: str, found: tuple[str, str]
) -> None:
    assert route(tmp_path, text, name) == found


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("e5", "write `<provider>/e5`, or name a `default` in the registry"),
        ("vendro/e5", "did you mean `vendor`?"),
    ],
)
def test_name_that_means_none_of_several_providers_is_refused(tmp_path: Path, name: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        route(tmp_path, f"providers:\n{LOCAL}{VENDOR}", name)
    assert str(caught.value) == (
        f"model_provider_unknown: the.key: `{name}` names none of the 2 providers of "
        f"{tmp_path}/model_providers.yaml; known are `local`, `vendor`\n  fix: {fix}"
    )
