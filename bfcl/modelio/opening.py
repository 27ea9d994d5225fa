"""Who answers a role's requests on this machine, checked before anything is computed? Rule: translation.md §13.1."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.errors import ConfigError, Problem
from bfcl.modelio.client import Client, LiveClient, ReplayClient
from bfcl.modelio.credential import Credential
from bfcl.modelio.providers import FILE, HOMES, read_registry, registry_path, route_to
from bfcl.modelio.transport import Transport


def open_client(
    name: str, environment: Mapping[str, str], transport: Transport, *, subject: str, recorded: bool
) -> Client:
    """A client for the model of that name (see `route_to`), which `subject` of the configuration asks for.

    Where replies are `recorded`, they may answer everything: then a registry or a credential that is missing is told
    when somebody has to be asked, not now. What is there and wrong is told now in any case.
    Raises: ConfigError `model_provider_invalid`, `model_provider_unknown`, `model_endpoint_invalid`; ModelError
    `model_credential_missing`.
    """
    path = registry_path(environment)
    if path is None or not path.exists():
        missing = Problem(
            code="model_provider_invalid",
            message=f"`{name}` is to be asked, but "
            + (f"{' and '.join(HOMES)} name no directory" if path is None else f"{path} is not there"),
            subject=subject,
            fix=f"write `{FILE}` into a directory and export {HOMES[0]} with its path",
        )
        if recorded:
            return ReplayClient(missing)
        raise ConfigError(missing)
    route = route_to(read_registry(path), name, subject=subject)
    provider = route.provider
    if provider.provider_type != "openai":
        raise ConfigError(
            Problem(
                code="model_provider_invalid",
                message=f"the provider `{provider.name}` is of the type `{provider.provider_type}`; "
                "expected openai, which alone answers requests of this kind",
                subject=subject,
                fix=f"name a provider of the type openai in {path}",
            )
        )
    credential = None if provider.api_key is None else Credential(provider.api_key, environment)
    if credential is not None and not recorded:
        credential.reveal()
    return LiveClient(route, credential, transport)
