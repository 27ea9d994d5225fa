"""Whose weights a candidate has, and how it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluate.settings.builder import CANDIDATE, Edit, beside, drop, faults, loaded, put, told, unpublished

FIRST = ("candidates", 0)
IDENTITY = (*FIRST, "model_identity")
INFERENCE = (*FIRST, "inference")
SCHEMA = "eval_config_schema_invalid"
PIN = "`bfcl resolve-bfcl-model-identity` finds them"

MOVING = [
    "main",
    "master",
    "head",
    "latest",
    "dev",
    "devel",
    "develop",
    "trunk",
    "stable",
    "nightly",
    "edge",
    "tip",
    "current",
    "default",
    "release",
    "prod",
    "production",
    "Main",
    "refs/heads/v1",
    "refs/remotes/origin/v1",
    "REFS/HEADS/v1",
]


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("name", MOVING)
def test_revision_that_moves_is_refused_whatever_else_pins_the_weights(tmp_path: Path, name: str, pinned: bool) -> None:
    weights = put((*IDENTITY, "weights_digest"), "sha256:" + "a" * 64 if pinned else None)
    assert told(tmp_path, put((*IDENTITY, "revision"), name), weights) == [
        f"eval.yaml:39: candidate_revision_mutable: candidates[0].model_identity.revision is <str len={len(name)}>; "
        "expected an id that never moves, not the name of a branch\n"
        "  fix: write the commit that it names now: `bfcl resolve-bfcl-model-identity registry`"
    ]


@pytest.mark.parametrize("name", ["v1.0", "a" * 39, "a" * 65, "A" * 40, "g" * 40, ""])
def test_revision_alone_has_to_be_a_commit(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, put((*IDENTITY, "revision"), name)) == [
        f"eval.yaml:39: candidate_revision_mutable: candidates[0].model_identity.revision is <str len={len(name)}>; "
        "expected 40 to 64 lower-case hex digits, as no weights digest pins the model\n"
        "  fix: write the commit that it names now: `bfcl resolve-bfcl-model-identity registry`"
    ]


@pytest.mark.parametrize(
    ("weights", "revision", "pin"),
    [
        ("sha256:" + "a" * 64, "v1.0", "sha256:" + "a" * 64),
        ("bfcl-weight-manifest-v1:" + "b" * 64, None, "bfcl-weight-manifest-v1:" + "b" * 64),
        (None, "c" * 64, "c" * 64),
    ],
)
def test_canonical_id_takes_the_strongest_pin(
    tmp_path: Path, weights: str | None, revision: str | None, pin: str
) -> None:
    settings = loaded(tmp_path, put((*IDENTITY, "weights_digest"), weights), put((*IDENTITY, "revision"), revision))
    assert settings.candidates[0].canonical_id == f"hub:Org/Potter-7B@{pin}"
    assert settings.candidates[0].assurance == "weights_pinned"


def test_unpinned_candidate_is_its_providers(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(IDENTITY, {"source": "vendor", "model": "potter-7b"}), unpublished)
    assert settings.candidates[0].canonical_id == "vendor:potter-7b@provider_managed"
    assert settings.candidates[0].assurance == "provider_managed"
    assert settings.non_publication_reasons == ("candidates[potter].model_identity", "publication.requested")


CASES: list[tuple[str, list[Edit], list[str]]] = [
    (
        "no candidate",
        [put(("candidates",), [])],
        [
            "28: candidate_identity_invalid: candidates is <list len=0>; expected at least one candidate\n"
            "  fix: describe one model under test"
        ],
    ),
    (
        "mapping of candidates",
        [put(("candidates",), {})],
        [
            f"28: {SCHEMA}: candidates is <mapping len=0>; expected a list of candidates\n"
            "  fix: set `candidates` to a list of candidates"
        ],
    ),
    (
        "candidate that is text",
        [put(("candidates",), ["potter"])],
        [
            f"29: {SCHEMA}: candidates[0] is no mapping; expected a candidate\n"
            "  fix: write alias, model, provider, provider_api_version, api, model_identity, inference under it"
        ],
    ),
    (
        "alias twice",
        [beside(alias="potter")],
        [
            "46: candidate_identity_invalid: candidates[1].alias has the alias of candidates[0]; expected another one\n"
            "  fix: give it an alias of its own"
        ],
    ),
    (
        "canonical id twice",
        [beside(model_identity=CANDIDATE["model_identity"])],
        [
            "53: candidate_identity_invalid: candidates[1].model_identity has the canonical id of "
            "candidates[0]; expected "
            "another one\n  fix: remove one: one model is scored once in a run"
        ],
    ),
    (
        "capital in an alias",
        [put((*FIRST, "alias"), "Potter")],
        [
            f"29: {SCHEMA}: candidates[0].alias is <str len=6>; expected 1 to 64 of a-z, 0-9, `.`, `_` and `-`, "
            f"the first "
            "a letter or a digit\n  fix: set `alias` to 1 to 64 of a-z, 0-9, `.`, `_` and `-`, the first a letter or a "
            "digit"
        ],
    ),
    (
        "model without quotes",
        [put((*FIRST, "model"), 7)],
        [
            f"30: {SCHEMA}: candidates[0].model is 7; expected non-empty text without control characters\n"
            "  fix: quote it to make it text"
        ],
    ),
    (
        "blank model",
        [put((*FIRST, "model"), " ")],
        [
            f"30: {SCHEMA}: candidates[0].model is <str len=1>; expected non-empty text without control characters\n"
            "  fix: set `model` to non-empty text without control characters"
        ],
    ),
    (
        "variable in small letters",
        [put((*FIRST, "api", "api_key_env"), "vendor_key")],
        [
            f"35: {SCHEMA}: candidates[0].api.api_key_env is <str len=10>; expected a variable's name: 1 to 64 of A-Z, "
            "0-9, `_`\n  fix: set `api_key_env` to a variable's name: 1 to 64 of A-Z, 0-9, `_`"
        ],
    ),
    (
        "digest of another kind",
        [put((*IDENTITY, "weights_digest"), "md5:12")],
        [
            f"40: {SCHEMA}: candidates[0].model_identity.weights_digest is <str len=6>; expected null, `sha256:` or "
            "`bfcl-weight-manifest-v1:` and 64 lower-case hex digits\n  fix: set `weights_digest` to null, "
            "`sha256:` or "
            "`bfcl-weight-manifest-v1:` and 64 lower-case hex digits"
        ],
    ),
    (
        "file manifest under 1.1",
        [
            put(("schema_version",), "1.1"),
            put((*IDENTITY, "weights_digest"), "bfcl-weight-manifest-v1:" + "a" * 64),
        ],
        [
            f"40: {SCHEMA}: candidates[0].model_identity.weights_digest is <str len=88>; expected a `sha256:` digest "
            'under schema version "1.1"\n  fix: write `schema_version: "1.2"`, which knows file manifests'
        ],
    ),
    (
        "nothing pinned under 1.1",
        [put(("schema_version",), "1.1"), put(IDENTITY, {"source": "vendor", "model": "potter-7b"}), unpublished],
        [
            '36: candidate_identity_invalid: candidates[0].model_identity pins no weights; schema version "1.1" '
            "expects "
            f"`revision` or `weights_digest`\n  fix: add `revision` or `weights_digest`: {PIN}; or write "
            '`schema_version: "1.2"`'
        ],
    ),
    (
        "nothing pinned, of another source",
        [drop(*IDENTITY, "revision"), unpublished],
        [
            "37: candidate_identity_invalid: candidates[0].model_identity.source is not the candidate's `provider`; "
            "expected the same while nothing pins the weights\n"
            f"  fix: write what `provider` says, or add `revision` or `weights_digest`: {PIN}",
            "38: candidate_identity_invalid: candidates[0].model_identity.model is not the candidate's `model`; "
            "expected "
            "the same while nothing pins the weights\n"
            f"  fix: write what `model` says, or add `revision` or `weights_digest`: {PIN}",
        ],
    ),
    (
        "number as revision",
        [put((*IDENTITY, "revision"), 12)],
        [
            f"39: {SCHEMA}: candidates[0].model_identity.revision is 12; expected null or text\n"
            "  fix: quote it to make it text"
        ],
    ),
    (
        "temperature below zero",
        [put((*INFERENCE, "temperature"), -0.5)],
        [
            f"41: {SCHEMA}: candidates[0].inference.temperature is -0.5; expected a number of at least 0\n"
            "  fix: set `temperature` to a number of at least 0"
        ],
    ),
    (
        "top_p of zero",
        [put((*INFERENCE, "top_p"), 0)],
        [
            f"42: {SCHEMA}: candidates[0].inference.top_p is 0; expected a number above 0 and not above 1\n"
            "  fix: set `top_p` to a number above 0 and not above 1"
        ],
    ),
    (
        "no top_p while sampling",
        [put((*INFERENCE, "top_p"), None), put((*INFERENCE, "temperature"), 0.5)],
        [
            f"42: {SCHEMA}: candidates[0].inference.top_p is null; expected a number above 0 and not above 1; "
            f"null only "
            "with `temperature: 0`\n  fix: write `top_p: 1`"
        ],
    ),
    (
        "boolean seed",
        [put((*INFERENCE, "seed"), True)],
        [f"44: {SCHEMA}: candidates[0].inference.seed is true; expected an integer\n  fix: set `seed` to an integer"],
    ),
    (
        "extensions of no namespace",
        [put((*INFERENCE, "provider_extensions"), {"Vendor.v1": {}, "vendor": {}, "vendor.v1": 3})],
        [
            f'47: {SCHEMA}: candidates[0].inference.provider_extensions["Vendor.v1"] is no namespace; expected '
            "`<provider>.v<number>`\n  fix: name it by the provider and the version of its API",
            f"48: {SCHEMA}: candidates[0].inference.provider_extensions.vendor is no namespace; expected "
            "`<provider>.v<number>`\n  fix: name it by the provider and the version of its API",
            f'49: {SCHEMA}: candidates[0].inference.provider_extensions["vendor.v1"] is no mapping; expected '
            f"the fields "
            "that are added to the request\n  fix: write `field: value` lines under it",
        ],
    ),
    (
        "limit under another field's name",
        [put((*INFERENCE, "max_tokens_field"), "seed")],
        [
            f"46: {SCHEMA}: candidates[0].inference.max_tokens_field is <str len=4>; expected a field that "
            f"holds nothing "
            "else\n  fix: write `max_completion_tokens` or remove it"
        ],
    ),
    (
        "echo of the content",
        [put((*INFERENCE, "echo_reasoning"), "content")],
        [
            f"46: {SCHEMA}: candidates[0].inference.echo_reasoning is <str len=7>; expected a field that is not "
            f"sent back "
            "anyway\n  fix: write `reasoning_content` or remove it"
        ],
    ),
]


@pytest.mark.parametrize(("edits", "messages"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_candidate_is_refused(tmp_path: Path, edits: list[Edit], messages: list[str]) -> None:
    assert told(tmp_path, *edits) == [f"eval.yaml:{message}" for message in messages]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ftp://models.example.org", "an http(s) address"),
        ("models.example.org/v1", "an http(s) address"),
        ("http://", "an http(s) address"),
        ("http://host:99999999", "an http(s) address"),
        ("https://me:kiln-pass@host/v1", "an address without a user or password"),
        ("https://host/v1?key=kiln-pass", "an address without query and fragment"),
        ("https://host/v1#kiln-pass", "an address without query and fragment"),
        (
            "https://host/v1/chat/completions/",
            "the API root, to which the client adds `/chat/completions` itself",
        ),
    ],
)
def test_base_url_is_refused_without_being_shown(tmp_path: Path, url: str, expected: str) -> None:
    assert told(tmp_path, put((*FIRST, "api", "base_url"), url)) == [
        f"eval.yaml:34: {SCHEMA}: candidates[0].api.base_url is <str len={len(url)}>; expected {expected}\n"
        "  fix: write the API root, like `https://models.example.org/v1`"
    ]


@pytest.mark.parametrize("namespace", ["vendor.v1", "my-vendor.v2", "vendor.io.v10"])
def test_extension_namespace_follows_the_pattern_of_providers(tmp_path: Path, namespace: str) -> None:
    extensions = {namespace: {"top_k": 3, "stops": [None]}}
    settings = loaded(tmp_path, put((*INFERENCE, "provider_extensions"), extensions))
    assert settings.candidates[0].inference.provider_extensions == extensions


@pytest.mark.parametrize(
    "keys",
    [
        *[(key,) for key in CANDIDATE],
        ("api", "base_url"),
        ("api", "api_key_env"),
        ("model_identity", "source"),
        ("model_identity", "model"),
        ("inference", "temperature"),
        ("inference", "top_p"),
        ("inference", "max_tokens"),
        ("inference", "tool_choice"),
    ],
)
def test_candidate_without_a_key_is_refused(tmp_path: Path, keys: tuple[str, ...]) -> None:
    assert (SCHEMA, f"candidates[0].{'.'.join(keys)}") in faults(tmp_path, drop(*FIRST, *keys))


def test_null_seed_and_top_p_are_not_sent(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put((*INFERENCE, "seed"), None), put((*INFERENCE, "top_p"), None))
    assert (settings.candidates[0].inference.seed, settings.candidates[0].inference.top_p) == (None, None)
