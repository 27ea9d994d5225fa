"""Which model providers does this machine know, and which one does a model's name mean? Rule: translation.md §13.1.

They stand in `model_providers.yaml` of the directory that `BFCL_MODEL_HOME` names, else `DATA_DESIGNER_HOME`: where a
model is reached is a matter of the machine, and no part of a configuration or of what is published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.errors import BfclError, ConfigError, Problem, did_you_mean, raise_all
from bfcl.located import parse_yaml
from bfcl.pack.shape import Pointer, Shape, dotted

FILE: Final = "model_providers.yaml"
HOMES: Final = ("BFCL_MODEL_HOME", "DATA_DESIGNER_HOME")
"""Variables naming the directory of the registry, the first that is set deciding."""

ProviderType = Literal["openai", "scripted"]

_INVALID: Final = "model_provider_invalid"
_KEYS: Final = ("name", "endpoint", "provider_type", "api_key")
_TYPES: Final[Mapping[str, ProviderType]] = {"openai": "openai", "scripted": "scripted"}
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
_ROUTES: Final = ("/chat/completions", "/embeddings")
"""What the client adds to a root, and what people therefore must not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One entry of `providers`."""

    name: str
    endpoint: str
    """API root without a trailing `/`."""
    provider_type: ProviderType
    api_key: str | None
    """Name of the environment variable that holds the credential; None where none is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Every provider of a registry file that has no fault."""

    path: str
    providers: tuple[Provider, ...]
    default: str | None
    """The provider meant where several are there and none is named."""


class Route(NamedTuple):
    """Where a model is asked, and by which name."""

    provider: Provider
    model: str


def registry_path(environment: Mapping[str, str]) -> Path | None:
    """Where the registry is looked for; None where no variable names a directory. The file may be missing."""
    for name in HOMES:
        if environment.get(name):
            return Path(environment[name]) / FILE
    return None


def read_registry(path: Path) -> Registry:
    """Read a registry file. No value of `api_key`, and no address that may hold a password, is ever shown.

    Raises: ConfigError with every problem: `model_provider_invalid`, `model_endpoint_invalid`.
    """
    try:
        document = parse_yaml(path.read_bytes(), path=str(path), code=_INVALID)
    except OSError as error:
        problem = Problem(
            code=_INVALID,
            path=str(path),
            message=f"cannot be read: {error.strerror}",
            fix=f"make `{FILE}` readable in the directory that `{HOMES[0]}` names",
        )
        raise ConfigError(problem) from error
    except BfclError as error:
        raise ConfigError(error.problems) from error
    shape = Shape(document, _INVALID)
    providers = _providers(document.value, shape)
    default = _default(document.value, providers, shape)
    raise_all(ConfigError, shape.problems)
    return Registry(path=str(path), providers=providers, default=default)


def route_to(registry: Registry, name: str, *, subject: str) -> Route:
    """The route that `<provider>/<model>` or a bare `<model>` means.

    Text up to the first `/` is a provider's where it equals a provider's name exactly; else all of it is the model's
    name, asked of the only provider or of the default one. `subject` is where the name stands.
    Raises: ConfigError `model_provider_unknown`.
    """
    by_name = {provider.name: provider for provider in registry.providers}
    head, slash, rest = name.partition("/")
    if slash and rest and head in by_name:
        return Route(by_name[head], rest)
    if len(by_name) == 1:
        return Route(registry.providers[0], name)
    if registry.default is not None:
        return Route(by_name[registry.default], name)
    known = ", ".join(f"`{each}`" for each in by_name)
    raise ConfigError(
        Problem(
            code="model_provider_unknown",
            message=f"`{name}` names none of the {len(by_name)} providers of {registry.path}; known are {known}",
            subject=subject,
            fix=(did_you_mean(head, by_name) if slash else None)
            or f"write `<provider>/{name}`, or name a `default` in the registry",
        )
    )


def _providers(value: Json, shape: Shape) -> tuple[Provider, ...]:
    if not isinstance(value, Mapping):
        _refuse(value, (), "a mapping with `providers`", shape)
        return ()
    shape.closed(value, (), ("providers", "default"))
    entries = value.get("providers")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        _refuse(entries, ("providers",), "a list of at least one provider", shape)
        return ()
    found: dict[str, Provider] = {}
    for index, entry in enumerate(entries):
        provider = _provider(entry, ("providers", index), shape)
        if provider is None:
            continue
        if provider.name in found:
            shape.refuse(("providers", index, "name"), f"the provider `{provider.name}` is there already")
        found.setdefault(provider.name, provider)
    return tuple(found.values())


def _provider(entry: Json, pointer: Pointer, shape: Shape) -> Provider | None:
    if not isinstance(entry, Mapping):
        _refuse(entry, pointer, "a mapping", shape)
        return None
    before = len(shape.problems)
    shape.closed(entry, pointer, _KEYS)
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip() or name != name.strip() or "/" in name:
        _refuse(name, (*pointer, "name"), "non-empty text without `/` or blanks around it", shape)
    kind = entry.get("provider_type") or "openai"
    if kind not in _TYPES:
        _refuse(kind, (*pointer, "provider_type"), "openai or scripted", shape)
    endpoint = _endpoint(entry.get("endpoint"), (*pointer, "endpoint"), shape)
    variable = entry.get("api_key")
    if variable is not None and not (isinstance(variable, str) and _VARIABLE.fullmatch(variable)):
        expected = "the name of an environment variable: capitals, digits and `_`"
        fix = "keep the credential in an environment variable and write that variable's name here"
        _refuse(variable, (*pointer, "api_key"), expected, shape, fix)
    if len(shape.problems) > before or not isinstance(name, str) or not isinstance(kind, str):
        return None
    return Provider(
        name=name,
        endpoint=endpoint,
        provider_type=_TYPES[kind],
        api_key=variable if isinstance(variable, str) else None,
    )


def _endpoint(value: Json, pointer: Pointer, shape: Shape) -> str:
    if not isinstance(value, str) or not value.strip():
        _refuse(value, pointer, "the API root, an http(s) address", shape)
        return ""
    root = value.rstrip("/")
    fault = _fault(root)
    if fault is not None:
        shown = shape_of(value) if any(mark in value for mark in "@?#") else f'"{value}"'
        message = f"`{dotted(pointer)}` is {shown}, which {fault}; expected an http(s) address without user or query"
        fix = "write the API root, like `https://models.example.org/v1`"
        shape.refuse(pointer, message, fix, code="model_endpoint_invalid")
        return ""
    for route in _ROUTES:
        if root.endswith(route):
            message = f"`{dotted(pointer)}` ends in `{route}`, which the client adds itself"
            corrected = root.removesuffix(route).rstrip("/")
            shape.refuse(pointer, message, f"write `{corrected}`", code="model_endpoint_invalid")
    return root


def _fault(address: str) -> str | None:
    if not address.isprintable() or " " in address:
        return "holds white space or control characters"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https"):
        return f"has the scheme `{parts.scheme}`" if parts.scheme else "has no scheme"
    if "@" in parts.netloc:
        return "names a user"
    if not host:
        return "names no host"
    if "?" in address:
        return "has a query"
    return "has a fragment" if "#" in address else None


def _default(value: Json, providers: Sequence[Provider], shape: Shape) -> str | None:
    default = value.get("default") if isinstance(value, Mapping) else None
    names = [provider.name for provider in providers]
    if default is None or default in names:
        return default if isinstance(default, str) else None
    if not shape.problems:
        expected = f"the name of a provider: {', '.join(names)}"
        _refuse(default, ("default",), expected, shape, did_you_mean(str(default), names))
    return None


def _refuse(value: Json, pointer: Pointer, expected: str, shape: Shape, fix: str | None = None) -> None:
    """Note a misfit by the value's kind and size alone: it may be a credential in the wrong place."""
    name = f"`{dotted(pointer)}`" if pointer else "the file"
    shape.refuse(pointer, f"{name} is {shape_of(value)}; expected {expected}", fix)
