"""Which models are under test, whose weights have they, and how are they asked? Rules: evaluation.md §2, §17.7."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.evaluate.settings.hashes import inference_json
from bfcl.evaluate.settings.model import Candidate, Identity, Inference
from bfcl.evaluate.settings.reading import ALIAS, SMALLEST, Section

IDENTITY: Final = "candidate_identity_invalid"
MUTABLE: Final = "candidate_revision_mutable"

_KEYS: Final = ("alias", "model", "provider", "provider_api_version", "api", "model_identity", "inference")
_SENT: Final = ("temperature", "top_p", "max_tokens", "tool_choice")
_SENT_OPTIONAL: Final = ("seed", "provider_extensions", "max_tokens_field", "echo_reasoning")
_CHOICES: Final[tuple[Literal["auto", "required", "none"], ...]] = ("auto", "required", "none")

_NAME: Final = "1 to 64 of a-z, 0-9, `.`, `_` and `-`, the first a letter or a digit"
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_WEIGHTS: Final = re.compile(r"(?:sha256|bfcl-weight-manifest-v1):[0-9a-f]{64}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_NAMESPACE: Final = re.compile(rf"{ALIAS.pattern}\.v[0-9]+")
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MOVING: Final = frozenset(
    {
        *("main", "master", "head", "trunk", "tip", "default"),
        *("dev", "devel", "develop", "nightly", "edge", "latest"),
        *("stable", "current", "release", "prod", "production"),
    }
)
_MOVING_PLACES: Final = ("refs/heads/", "refs/remotes/")
_OTHER_LIMITS: Final = frozenset(
    {"model", "messages", "tools", "tool_choice", "temperature", "top_p", "seed", "stream"}
)
_MESSAGE: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_ROUTE: Final = "/chat/completions"


def read_candidates(root: Section, version: str) -> tuple[Candidate, ...]:
    """Every candidate in the order of the file.

    Notes `candidate_identity_invalid` for an empty list, a repeated alias, two entries of one canonical id and weights
    that nothing pins where the provider's word does not stand for them; `candidate_revision_mutable`.
    """
    value = root.value("candidates")
    if not isinstance(value, list | tuple):
        if root.has("candidates"):
            root.wrong("candidates", "a list of candidates")
        return ()
    if not value:
        root.wrong("candidates", "at least one candidate", "describe one model under test", code=IDENTITY)
    found: list[Candidate] = []
    aliases: dict[str, int] = {}
    ids: dict[str, int] = {}
    for index, entry in enumerate(value):
        section = _entry(root, index, entry)
        candidate = _candidate(section, version)
        if section.sound("alias"):
            _unlike(section, "alias", aliases.setdefault(candidate.alias, index), index)
        if section.sound("model_identity") and candidate.identity.source and candidate.identity.model:
            _unlike(section, "model_identity", ids.setdefault(candidate.canonical_id, index), index)
        found.append(candidate)
    return tuple(found)


def _entry(root: Section, index: int, entry: Json) -> Section:
    reading, pointer = root.reading, root.at("candidates", index)
    if isinstance(entry, Mapping):
        return Section(reading, pointer, entry).closed(_KEYS)
    if not reading.is_faulty(pointer):
        reading.refuse(pointer, "is no mapping; expected a candidate", f"write {', '.join(_KEYS)} under it")
    return Section(reading, pointer, {})


def _unlike(section: Section, key: str, first: int, index: int) -> None:
    if first != index:
        what = "alias" if key == "alias" else "canonical id"
        message = f"has the {what} of candidates[{first}]; expected another one"
        fix = "give it an alias of its own" if key == "alias" else "remove one: one model is scored once in a run"
        section.reading.refuse(section.at(key), message, fix, code=IDENTITY)


def _candidate(section: Section, version: str) -> Candidate:
    api = section.section("api", ("base_url", "api_key_env"))
    model, provider = section.text("model"), section.text("provider", pattern=ALIAS, expected=_NAME)
    identity = _identity(section, version)
    if not (identity.weights_digest or identity.revision):
        _check_unpinned(section, model, provider, version)
    inference = _inference(section)
    pin = identity.weights_digest or identity.revision or "provider_managed"
    return Candidate(
        alias=section.text("alias", pattern=ALIAS, expected=_NAME),
        model=model,
        provider=provider,
        provider_api_version=section.text("provider_api_version"),
        base_url=_base_url(api),
        api_key_env=api.text("api_key_env", pattern=_VARIABLE, expected="a variable's name: 1 to 64 of A-Z, 0-9, `_`"),
        identity=identity,
        canonical_id=f"{identity.source}:{identity.model}@{pin}",
        assurance="provider_managed" if pin == "provider_managed" else "weights_pinned",
        inference=inference,
        # What has a fault is refused, and may hold a credential: nothing of it is hashed.
        inference_parameters_hash=sha256_json(inference_json(inference)) if section.reading.clean else Digest(""),
    )


def _identity(section: Section, version: str) -> Identity:
    block = section.section("model_identity", ("source", "model"), ("revision", "weights_digest"))
    weights = block.text_or_null(
        "weights_digest",
        pattern=_WEIGHTS,
        expected="null, `sha256:` or `bfcl-weight-manifest-v1:` and 64 lower-case hex digits",
    )
    if weights is not None and version == "1.1" and not weights.startswith("sha256:"):
        fix = 'write `schema_version: "1.2"`, which knows file manifests'
        block.wrong("weights_digest", 'a `sha256:` digest under schema version "1.1"', fix)
    return Identity(
        source=block.text("source", pattern=ALIAS, expected=_NAME),
        model=block.text("model"),
        revision=_revision(block, weights),
        weights_digest=weights,
    )


def _revision(block: Section, weights: str | None) -> str | None:
    value = block.value("revision")
    if value is None:
        return None
    if not isinstance(value, str):
        block.wrong("revision", "null or text", "quote it to make it text")
        return None
    name = value.strip()
    fix = "write the commit that it names now: `bfcl resolve-bfcl-model-identity registry`"
    if name.casefold() in _MOVING or name.casefold().startswith(_MOVING_PLACES):
        block.wrong("revision", "an id that never moves, not the name of a branch", fix, code=MUTABLE)
    elif not name.isprintable() or not name or (weights is None and not _COMMIT.fullmatch(name)):
        expected = "40 to 64 lower-case hex digits, as no weights digest pins the model"
        block.wrong("revision", expected, fix, code=MUTABLE)
    return name


def _check_unpinned(section: Section, model: str, provider: str, version: str) -> None:
    """Nothing pins the weights, so the provider answers for them: then route and identity must be the same."""
    pointer = section.at("model_identity")
    block = section.value("model_identity")
    if not isinstance(block, Mapping) or any(
        section.reading.is_faulty((*pointer, key)) for key in ("revision", "weights_digest")
    ):
        return
    refuse = section.reading.refuse
    pin = "add `revision` or `weights_digest`: `bfcl resolve-bfcl-model-identity` finds them"
    if version == "1.1":
        message = 'pins no weights; schema version "1.1" expects `revision` or `weights_digest`'
        refuse(pointer, message, f'{pin}; or write `schema_version: "1.2"`', code=IDENTITY)
        return
    for key, route, name in (("source", provider, "provider"), ("model", model, "model")):
        stated = block.get(key)
        mine, other = (*pointer, key), section.at(name)
        if isinstance(stated, str) and stated.strip() and route and stated.strip() != route:
            if section.reading.is_faulty(mine) or section.reading.is_faulty(other):
                continue
            message = f"is not the candidate's `{name}`; expected the same while nothing pins the weights"
            refuse(mine, message, f"write what `{name}` says, or {pin}", code=IDENTITY)


def _base_url(api: Section) -> str:
    url = api.text("base_url").rstrip("/")
    fault = _url_fault(url) if url else None
    if fault is not None:
        api.wrong("base_url", fault, "write the API root, like `https://models.example.org/v1`")
    return url


def _url_fault(url: str) -> str | None:
    """What the address should be, None where it is that. The address is never shown: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "an http(s) address"
    if parts.scheme not in ("http", "https") or not host or " " in url:
        return "an http(s) address"
    if "@" in parts.netloc:
        return "an address without a user or password"
    if "?" in url or "#" in url:
        return "an address without query and fragment"
    return f"the API root, to which the client adds `{_ROUTE}` itself" if url.endswith(_ROUTE) else None


def _inference(section: Section) -> Inference:
    block = section.section("inference", _SENT, _SENT_OPTIONAL)
    temperature = block.number("temperature", expected="a number of at least 0")
    top_p: float | None = None
    if block.value("top_p") is not None:
        top_p = block.number("top_p", least=SMALLEST, most=1.0, expected="a number above 0 and not above 1")
    elif block.has("top_p") and block.sound("temperature") and temperature != 0:
        block.wrong("top_p", "a number above 0 and not above 1; null only with `temperature: 0`", "write `top_p: 1`")
    return Inference(
        temperature=temperature,
        top_p=top_p,
        max_tokens=block.whole("max_tokens", least=1),
        seed=block.whole_or_null("seed"),
        tool_choice=block.word("tool_choice", _CHOICES),
        provider_extensions=_extensions(block),
        max_tokens_field=_limit_name(block),
        echo_reasoning=_echoed(block),
    )


def _extensions(block: Section) -> Mapping[str, Mapping[str, Json]]:
    value = block.value("provider_extensions")
    if not isinstance(value, Mapping):
        if block.has("provider_extensions"):
            block.wrong("provider_extensions", "a mapping of namespaces", "write `{}` or remove it")
        return {}
    found: dict[str, Mapping[str, Json]] = {}
    for name, fields in value.items():
        place = block.at("provider_extensions", name)
        if block.reading.is_faulty(place):
            continue
        if not _NAMESPACE.fullmatch(name):
            message = "is no namespace; expected `<provider>.v<number>`"
            block.reading.refuse(place, message, "name it by the provider and the version of its API")
        elif not isinstance(fields, Mapping):
            message = "is no mapping; expected the fields that are added to the request"
            block.reading.refuse(place, message, "write `field: value` lines under it")
        else:
            found[name] = fields
    return found


def _limit_name(block: Section) -> str:
    name = block.text("max_tokens_field", pattern=_FIELD, expected="the name of a request field", default="max_tokens")
    if name in _OTHER_LIMITS:
        block.wrong("max_tokens_field", "a field that holds nothing else", "write `max_completion_tokens` or remove it")
    return name


def _echoed(block: Section) -> str | None:
    name = block.text_or_null("echo_reasoning", pattern=_FIELD, expected="null or the name of a message field")
    if name in _MESSAGE:
        block.wrong("echo_reasoning", "a field that is not sent back anyway", "write `reasoning_content` or remove it")
    return name
