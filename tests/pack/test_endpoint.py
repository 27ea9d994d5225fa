"""`endpoint_config.yaml`: what an endpoint's file must say, told all at once and without showing a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bfcl.pack.endpoint import context_digest
from bfcl.pack.schema_files import schema
from tests.pack.conftest import Load, Refused
from tests.packs import Edit, drop, dump, text

ZERO = "sha256:" + 64 * "0"
UPPER = "sha256:" + 64 * "A"
NAME_FIX = "\n  fix: keep the value in an environment variable and write that variable's name here"
SECRET_FIX = (
    "\n  fix: revoke it, keep its successor in an environment variable, and name that in `auth.bearer_token_env`"
)
URL_FIX = "\n  fix: write it like `https://oracle.example.org/desk`"
ENVIRONMENT = "the name of an environment variable: capitals, digits and `_`"
PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def mapping(**edits: object) -> dict[str, Any]:
    """A file without a fault; edits name keys, nested ones with a double underscore, None removes."""
    value: dict[str, Any] = {
        "protocol_version": "bfcl-oracle-http-v1",
        "base_url": "https://kilns.example:9443/oracle/",
        "expected": {"oracle_id": "kilns", "oracle_version": "2.1.0", "content_digest": ZERO},
    }
    for name, new in edits.items():
        *parts, last = name.split("__")
        holder = value
        for part in parts:
            holder = holder.setdefault(part, {})
        holder[last] = new
        if new is None:
            del holder[last]
    return value


def endpoint(**edits: object) -> tuple[Edit, ...]:
    """The edits that put such a file in place of the backend."""
    return written(dump("endpoint_config.yaml", mapping(**edits)))


def validator() -> Draft202012Validator:
    """What an editor makes of the schema."""
    Draft202012Validator.check_schema(schema("endpoint_config"))
    return Draft202012Validator(schema("endpoint_config"))


def written(content: str) -> tuple[Edit, ...]:
    return drop("backend.py"), text("endpoint_config.yaml", content)


def told(refused: Refused, **edits: object) -> list[str]:
    """The problems without path and code."""
    found = [str(problem) for problem in refused(*endpoint(**edits))]
    lead = "endpoint_contract_invalid: "
    assert all(lead in line for line in found), found
    return [line.partition(lead)[2] for line in found]


def test_endpoint_in_place_of_a_backend_loads(load: Load) -> None:
    pack = load(*endpoint())
    assert pack.endpoint is not None
    assert pack.endpoint.base_url == "https://kilns.example:9443/oracle"
    assert pack.endpoint.attestation_digest is None
    assert "backend" not in pack.files
    assert pack.files["endpoint"].logical == "tree/endpoint_config.yaml"


def test_pack_with_a_backend_has_no_endpoint(load: Load) -> None:
    assert load().endpoint is None


@pytest.mark.parametrize("where", ["manifest", "config"])
def test_endpoint_file_may_be_named(load: Load, home: Path, where: str) -> None:
    content = dump("endpoint_config.yaml", mapping())
    if where == "config":
        (home / "service.yaml").write_text(content)
        pack = load(drop("backend.py"), oracle_pack__endpoint_config_path=home / "service.yaml")
        assert pack.files["endpoint"].logical == "declared/endpoint"
    else:

        def name_it(draft: Any) -> None:
            draft.data["manifest.yaml"]["paths"] = {"endpoint": "conf/service.yaml"}

        pack = load(drop("backend.py"), text("conf/service.yaml", content), name_it)
        assert pack.files["endpoint"].logical == "tree/conf/service.yaml"
    assert pack.endpoint is not None


@pytest.mark.parametrize(
    "edits",
    [
        {"base_url": "https://localhost"},
        {"base_url": "https://[::1]:8443/x/y"},
        {"expected__content_digest": UPPER},
        {"auth": {}},
        {"auth": {"bearer_token_env": "KILN_TOKEN", "headers": {"X-Team": "TEAM_KEY"}}},
        {"auth__bearer_token_env": "A_NAME_THAT_IS_FAR_LONGER_THAN_MOST_SECRETS_ARE_0123456789"},
        {"auth__bearer_token_ref": "KILN_TOKEN"},
        {"auth__bearer_token_ref": {"resolver": "environment", "name": "KILN_TOKEN"}},
        {
            "auth__bearer_token_ref": {
                "schema_version": "bfcl-credential-reference-v1",
                "resolver": "secret_manager",
                "provider": "vault",
                "name": "prod/kilns/oracle/token/primary/2026",
                "version": "7",
            }
        },
        {"max_request_bytes": 1, "max_response_bytes": 10485760},
    ],
)
def test_every_legal_form_loads(load: Load, edits: dict[str, object]) -> None:
    assert load(*endpoint(**edits)).endpoint is not None
    assert validator().is_valid(mapping(**edits))


@pytest.mark.parametrize(
    "edits",
    [
        {"base_url": "http://kilns.example"},
        {"base_url": "https://me:hush@kilns.example"},
        {"expected__content_digest": "sha256:00"},
        {"auth": {"token": "hush"}},
        {"auth": {"bearer_token_env": "hush"}},
        {"auth": {"headers": {"X-Team": {"resolver": "env", "name": "A"}}}},
        {"attestation": {"kind": "x", "expected_digest": ZERO}},
        {"retries": 3},
    ],
)
def test_editor_underlines_what_loading_refuses(refused: Refused, edits: dict[str, object]) -> None:
    assert told(refused, **edits) != []
    assert not validator().is_valid(mapping(**edits))


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"protocol_version": None}, "`protocol_version` is required\n  fix: add `protocol_version`"),
        (
            {"protocol_version": "bfcl-oracle-http-v2"},
            '`protocol_version` is "bfcl-oracle-http-v2"; expected "bfcl-oracle-http-v1"\n'
            "  fix: did you mean `bfcl-oracle-http-v1`?",
        ),
        ({"expected": None}, "`expected` is required\n  fix: add `expected`"),
        ({"expected__oracle_id": " "}, '`expected.oracle_id` is " "; expected non-empty text'),
        (
            {"expected__oracle_version": 1.0},
            "`expected.oracle_version` is 1.0; expected text\n  fix: quote it to make it text",
        ),
        (
            {"expected__content_digest": "sha256:00"},
            '`expected.content_digest` is "sha256:00"; expected `sha256:` and 64 hexadecimal digits',
        ),
        (
            {"expected__principal_digest": "md5:00"},
            '`expected.principal_digest` is "md5:00"; expected `sha256:` and 64 hexadecimal digits',
        ),
        (
            {"expected__oracle": "kilns"},
            "unknown key `oracle` in `expected`\n  fix: did you mean `oracle_id`?",
        ),
        ({"base_ur": "x"}, "unknown key `base_ur`\n  fix: did you mean `base_url`?"),
        ({"attestation__kind": "x"}, "`attestation.expected_digest` is required\n  fix: add `expected_digest`"),
        ({"tls__verify": False}, "unknown key `verify` in `tls`\n  fix: use one of ca_bundle_path"),
        ({"max_request_bytes": 0}, "`max_request_bytes` is 0; expected an integer of at least 1"),
        ({"max_request_bytes": True}, "`max_request_bytes` is true; expected an integer of at least 1"),
        ({"max_response_bytes": 1.5}, "`max_response_bytes` is 1.5; expected an integer of at least 1"),
    ],
)
def test_shape_at_fault_is_refused_with_its_field(refused: Refused, edits: dict[str, object], message: str) -> None:
    assert message in told(refused, **edits)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://kilns.example", '"http://kilns.example", which has the scheme `http`'),
        ("kilns.example/x", '"kilns.example/x", which has no scheme'),
        ("https:///x", '"https:///x", which names no host'),
        ("https://:443/x", '"https://:443/x", which names no host'),
        ("https://kilns.example/#x", '"https://kilns.example/#x", which has a fragment'),
        ("https://kilns.example:port", '"https://kilns.example:port", which is no address'),
        ("https://kilns example", '"https://kilns example", which holds white space or control characters'),
        ("https://me:hush@kilns.example", "<str, 29>, which names a user"),
        ("https://kilns.example/?key=hush", "<str, 31>, which has a query"),
        ("https://kilns.example?", "<str, 22>, which has a query"),
    ],
)
def test_address_at_fault_is_refused_without_its_secrets(refused: Refused, url: str, fault: str) -> None:
    expected = "an HTTPS address without user, query or fragment"
    assert told(refused, base_url=url) == [f"`base_url` is {fault}; expected {expected}{URL_FIX}"]


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        ("KILN_TOKEN", "`auth` is <str, 10>; expected a mapping"),
        (
            {"token": "hush"},
            "unknown key `token` in `auth`\n  fix: use one of bearer_token_env, bearer_token_ref, headers",
        ),
        ({"bearer_token_env": "hush"}, f"`auth.bearer_token_env` is <str, 4>; expected {ENVIRONMENT}{NAME_FIX}"),
        ({"bearer_token_env": 7}, f"`auth.bearer_token_env` is <int>; expected {ENVIRONMENT}{NAME_FIX}"),
        (
            {"bearer_token_env": "A", "bearer_token_ref": "B"},
            "`auth` has both `bearer_token_env` and `bearer_token_ref`; expected one\n  fix: remove one of the two",
        ),
        ({"headers": ["X-Team"]}, "`auth.headers` is <list, 1>; expected a mapping"),
        ({"headers": {"X Team": "A"}}, "`X Team` is no name of an HTTP header\n  fix: use letters, digits and `-`"),
        ({"headers": {"HOST": "A"}}, "the header `HOST` is set by the client\n  fix: remove it"),
        ({"headers": {"authorization": "A"}}, "the header `authorization` is set by the client\n  fix: remove it"),
        (
            {"headers": {"X-Team": "A", "x-team": "B"}},
            "the header `x-team` is there already as `X-Team`\n  fix: keep one of the two",
        ),
        ({"headers": {"X-Team": "hush"}}, f"`auth.headers.X-Team` is <str, 4>; expected {ENVIRONMENT}{NAME_FIX}"),
        (
            {"bearer_token_ref": {"resolver": "env", "name": "A"}},
            "`auth.bearer_token_ref.resolver` is <str, 3>; expected environment or secret_manager",
        ),
        (
            {"bearer_token_ref": {"resolver": "environment", "name": "A", "version": "1"}},
            "`auth.bearer_token_ref.version` means nothing to `environment`\n  fix: remove it",
        ),
        (
            {"bearer_token_ref": {"resolver": "secret_manager", "name": "a/b"}},
            "`auth.bearer_token_ref.provider` is <null>; expected the name of a provider",
        ),
        (
            {"bearer_token_ref": {"resolver": "secret_manager", "provider": "vault", "name": "a b"}},
            "`auth.bearer_token_ref.name` is <str, 3>; expected the name of a secret",
        ),
        (
            {"bearer_token_ref": {"schema_version": "v2", "resolver": "environment", "name": "A"}},
            '`auth.bearer_token_ref.schema_version` is <str, 2>; expected "bfcl-credential-reference-v1"',
        ),
        (
            {"bearer_token_ref": {"resolver": "environment", "name": "A", "value": "hush"}},
            "unknown key `value` in `auth.bearer_token_ref`\n"
            "  fix: use one of name, provider, resolver, schema_version, version",
        ),
    ],
)
def test_auth_at_fault_is_refused_by_kind_and_size_alone(refused: Refused, auth: object, message: str) -> None:
    assert told(refused, auth=auth) == [message]


@pytest.mark.parametrize(
    ("edits", "field"),
    [
        ({"auth": {"bearer_token_env": "Bearer abc"}}, "auth.bearer_token_env"),
        ({"auth": {"bearer_token_env": "0123456789abcdef0123456789abcdef"}}, "auth.bearer_token_env"),
        ({"auth": {"headers": {"X-Key": "sk-0123456789abcdefXYZ"}}}, "auth.headers.X-Key"),
        ({"expected__oracle_id": "-----BEGIN RSA PRIVATE KEY-----"}, "expected.oracle_id"),
        ({"expected__content_digest": "sk-0123456789abcdefXYZ"}, "expected.content_digest"),
    ],
)
def test_value_that_looks_like_a_credential_is_told_once_and_never_shown(
    refused: Refused, edits: dict[str, object], field: str
) -> None:
    (message,) = told(refused, **edits)
    assert message.startswith(f"`{field}` is <str, ")
    assert message.endswith(f"> that looks like a credential; a pack never holds one{SECRET_FIX}")


def test_credential_under_an_unknown_key_is_told_beside_the_key(refused: Refused) -> None:
    assert told(refused, auth={"token": "Bearer abc"}) == [
        f"`auth.token` is <str, 10> that looks like a credential; a pack never holds one{SECRET_FIX}",
        "unknown key `token` in `auth`\n  fix: use one of bearer_token_env, bearer_token_ref, headers",
    ]


def test_every_fault_is_told_at_once_with_its_line(refused: Refused) -> None:
    content = (
        "protocol_version: bfcl-oracle-http-v1\n"
        "base_url: http://kilns.example\n"
        "expected:\n"
        "  oracle_id: kilns\n"
        "  oracle_version: 2.1\n"
        "  content_digest: none\n"
        "auth: {bearer_token_env: hush}\n"
        "retries: 3\n"
    )
    found = refused(*written(content))
    assert [(problem.path, problem.line, problem.field) for problem in found] == [
        ("pack/endpoint_config.yaml", 2, "base_url"),
        ("pack/endpoint_config.yaml", 5, "expected.oracle_version"),
        ("pack/endpoint_config.yaml", 6, "expected.content_digest"),
        ("pack/endpoint_config.yaml", 7, "auth.bearer_token_env"),
        ("pack/endpoint_config.yaml", 8, "retries"),
    ]


@pytest.mark.parametrize("content", ["", "[]\n", "https://kilns.example\n"])
def test_file_that_is_no_mapping_is_refused(refused: Refused, content: str) -> None:
    (problem,) = refused(*written(content))
    assert problem.code == "endpoint_contract_invalid"
    assert problem.message.endswith("; expected a mapping with `protocol_version`, `base_url` and `expected`")


def test_pinned_attestation_is_refused_since_nothing_could_compare_it(refused: Refused) -> None:
    pin = {"kind": "bfcl-endpoint-conformance-v1", "expected_digest": ZERO}
    (problem,) = refused(*endpoint(attestation=pin))
    assert str(problem).partition(": ")[2] == (
        "unsupported_config_feature: `attestation` pins a service; this release runs Python oracles only and cannot "
        "compare it\n  fix: remove `attestation` to check the rest of the pack, or write a `backend.py`"
    )
    assert problem.path == "pack/endpoint_config.yaml"


# --- authorization context ----------------------------------------------------------------------------------------


REFERENCE = {
    "schema_version": "bfcl-credential-reference-v1",
    "resolver": "environment",
    "name": "KILN_TOKEN",
    "provider": None,
    "version": None,
}


def test_context_digest_is_that_of_references_and_digests() -> None:
    assert (
        context_digest([REFERENCE], ZERO, ZERO)
        == "sha256:53ecd3793ef1da41a758770fcb1fba9a4ff1efb609e92cefc8f41d13b6adccbf"
    )
    other = {**REFERENCE, "name": "A"}
    assert context_digest([REFERENCE, other], None, None) == context_digest([other, REFERENCE], None, None)


def test_context_digest_of_what_is_configured_loads(load: Load) -> None:
    pins = {"expected__principal_digest": ZERO, "expected__permission_digest": UPPER}
    digest = context_digest([REFERENCE], ZERO, UPPER.lower())
    edits = endpoint(auth={"bearer_token_env": "KILN_TOKEN"}, expected__authorization_context_digest=digest, **pins)
    assert load(*edits).endpoint is not None


def test_context_digest_of_something_else_is_refused(refused: Refused) -> None:
    field = "`expected.authorization_context_digest`"
    message = f"{field} is {ZERO}, but `auth` and the other digests make {context_digest([], None, None)}"
    fix = "\n  fix: pin the digest of what is configured, or configure what was pinned"
    assert told(refused, expected__authorization_context_digest=ZERO) == [message + fix]


def test_context_digest_without_its_parts_is_refused(refused: Refused) -> None:
    message = (
        "`expected.authorization_context_digest` is given with credentials but without principal_digest and "
        "permission_digest\n  fix: add `expected.principal_digest` and `expected.permission_digest`"
    )
    auth = {"bearer_token_env": "KILN_TOKEN"}
    assert told(refused, auth=auth, expected__authorization_context_digest=ZERO) == [message]


# --- CA bundle ----------------------------------------------------------------------------------------------------


def test_ca_bundle_in_the_pack_is_one_of_its_files(load: Load) -> None:
    pack = load(*endpoint(tls__ca_bundle_path="tls/ca.pem"), text("tls/ca.pem", PEM))
    assert pack.files["ca_bundle"].logical == "tree/tls/ca.pem"


def test_ca_bundle_outside_the_pack_is_fingerprinted(load: Load, home: Path) -> None:
    (home / "ca.pem").write_text(PEM)
    pack = load(*endpoint(tls__ca_bundle_path="../ca.pem"))
    assert pack.files["ca_bundle"].logical == "declared/ca_bundle"
    assert "declared/ca_bundle" in pack.entries


def test_ca_bundle_that_is_missing_is_named(refused: Refused) -> None:
    (problem,) = refused(*endpoint(tls__ca_bundle_path="ca.pem"))
    assert str(problem).partition(": ")[2] == (
        "pack_file_missing: `tls.ca_bundle_path`: `pack/ca.pem` does not exist\n  fix: add the file or correct the path"
    )
    assert (problem.path, problem.field) == ("pack/endpoint_config.yaml", "tls.ca_bundle_path")


def test_ca_bundle_outside_the_roots_is_refused(refused: Refused) -> None:
    (problem,) = refused(*endpoint(tls__ca_bundle_path="/etc/hostname"))
    assert problem.code == "pack_outside_allowlist"


def test_ca_bundle_without_a_certificate_is_refused(refused: Refused) -> None:
    (problem,) = refused(*endpoint(tls__ca_bundle_path="ca.pem"), text("ca.pem", "no\n"))
    assert str(problem).partition(": ")[2] == (
        "endpoint_contract_invalid: `tls.ca_bundle_path` names a file that holds no PEM certificate\n"
        "  fix: name a file with `-----BEGIN CERTIFICATE-----`"
    )
