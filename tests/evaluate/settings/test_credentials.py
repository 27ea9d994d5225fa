"""Credentials are found before anything else is, and shown nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.evaluate.settings.credentials import looks_secret, names_secret, redacted, secrets_in
from tests.evaluate.settings.builder import put, told

BODY = "Ab0_-9xYzAb0_-9x"
PREFIXES = [
    "nvapi-",
    "sk-",
    "sk_live_",
    "hf_",
    "ghp_",
    "gho_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "AIza",
    "bearer ",
    "Bearer  ",
]
NAMES = [
    "api_key",
    "apikey",
    "authorization",
    "bearer_token",
    "password",
    "secret",
    "token",
    "access_token",
    "auth_token",
    "credentials",
    "private_key",
    "API-Key",
    "vendor_api_key",
    "db_password",
    "client_secret",
    "my_access_token",
    "x_auth_token",
    "session_token",
]
MODEL = ("candidates", 0, "model")
EXTENSIONS = ("candidates", 0, "inference", "provider_extensions")
FIX = "\n  fix: write the name of an environment variable under `api_key_env`; revoke what stood here if it is a key"


@pytest.mark.parametrize("prefix", PREFIXES)
def test_token_is_known_by_its_prefix_in_any_case(prefix: str) -> None:
    assert looks_secret(f" {prefix}{BODY}\n")
    assert looks_secret(f"{prefix.upper()}{BODY}")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefix_without_sixteen_characters_behind_it_is_a_name(prefix: str) -> None:
    assert not looks_secret(f"{prefix}{BODY[:-1]}")


@pytest.mark.parametrize("text", ["hf_model", "sk-tiny", "hf_models/org/some-model-of-ours", "my sk-" + BODY, ""])
def test_harmless_name_is_no_token(text: str) -> None:
    assert not looks_secret(text)


@pytest.mark.parametrize("name", NAMES)
def test_key_holds_a_credential_by_its_name(name: str) -> None:
    assert names_secret(name)


@pytest.mark.parametrize("name", ["api_key_env", "max_tokens", "max_tokens_field", "tokenizer", "keys", "passwords"])
def test_key_that_only_sounds_like_it_holds_none(name: str) -> None:
    assert not names_secret(name)


@given(st.lists(st.sampled_from(["a", 0, "b", 1]), max_size=5))
def test_secret_is_found_at_any_depth(path: list[str | int]) -> None:
    value: object = f"hf_{BODY}"
    for part in reversed(path):
        value = {part: value} if isinstance(part, str) else [0] * part + [value]
    (found,) = secrets_in(value)  # type: ignore[arg-type]
    assert found.pointer == tuple(path)


@pytest.mark.parametrize(
    ("place", "value", "field", "why"),
    [
        (MODEL, f"hf_{BODY}", "30: secret_in_eval_config: candidates[0].model", "starts like a provider's token"),
        (
            ("candidates", 0, "api", "token"),
            None,
            "36: secret_in_eval_config: candidates[0].api.token",
            "holds a credential by its name",
        ),
        (
            EXTENSIONS,
            {"vendor.v1": {"headers": [f"Bearer {BODY}"]}},
            '49: secret_in_eval_config: candidates[0].inference.provider_extensions["vendor.v1"].headers[0]',
            "starts like a provider's token",
        ),
        (
            (f"sk-{BODY}",),
            1,
            '59: secret_in_eval_config: ["<redacted>"]',
            "stands under a key that starts like a provider's token",
        ),
    ],
)
def test_configuration_with_a_credential_is_refused(
    tmp_path: Path, place: tuple[str | int, ...], value: object, field: str, why: str
) -> None:
    assert told(tmp_path, put(place, value)) == [
        f"eval.yaml:{field} is <redacted>: it {why}; expected no credential{FIX}"
    ]


def test_no_text_of_a_refused_configuration_is_shown(tmp_path: Path) -> None:
    canary = "kiln-pass-phrase"
    texts = [
        put(("schema_version",), canary),
        put(("source_run_manifest",), canary),
        put(("source_oracle", "kind"), canary),
        put(("source_oracle", "pack_manifest"), canary),
        put(("source_oracle", "resource"), canary),
        put(("translation_manifest",), canary),
        put(("eval", "mode"), [canary]),
        *(put(("scoring", key), canary) for key in ("contract", "argument_matching", "respect_call_order")),
        put(("limits", "max_turns"), canary),
        put(("candidates", 0, "alias"), f"{canary}!"),
        put(("candidates", 0, "api", "base_url"), f"https://me:{canary}@host"),
        put(("candidates", 0, "api", "api_key_env"), canary),
        put(("candidates", 0, "api", "password"), canary),
        put(("candidates", 0, "model_identity", "revision"), canary),
        put(("candidates", 0, "model_identity", "weights_digest"), canary),
        put(("candidates", 0, "inference", "tool_choice"), canary),
        put(("candidates", 0, "inference", "echo_reasoning"), canary),
        put(("contamination", "on_violation"), canary),
        put(("publication", "requested"), canary),
        put(("outputs", "output_dir"), canary + "{"),
    ]
    found = told(tmp_path, *texts)
    assert len(found) == len(texts)
    assert canary not in "\n".join(found)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("abc", "<str len=3>"),
        ({"a": 1}, "<mapping len=1>"),
        ([1, 2], "<list len=2>"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
    ],
)
def test_value_is_shown_without_its_text(value: object, shown: str) -> None:
    assert redacted(value) == shown  # type: ignore[arg-type]
