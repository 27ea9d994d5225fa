"""How is a model asked for vectors in a run: over which connection, recorded where? Rule: generation.md §3.8, §4.2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bfcl.modelio.cache import RoleCache
from bfcl.modelio.embeddings import RecordedEmbeddings
from bfcl.modelio.opening import open_client
from bfcl.modelio.transport import Transport
from bfcl.stages.balancing.embedding import EndpointFinder


def endpoint_finder(
    model: str, recorded: Path, transport: Transport, environment: Mapping[str, str], batch_size: int
) -> EndpointFinder:
    """The finder `endpoint:<model>`, its answers recorded in a file that may be absent.

    Raises: StageError `dedup_backend_unavailable`; ModelError as `RoleCache` and `open_client` do; ConfigError as
    `open_client` does.
    """
    cache = RoleCache(recorded)
    client = open_client(
        model,
        environment,
        transport,
        subject="semantic_deduplication_config.model_identifier",
        recorded=len(cache) > 0,
    )
    return EndpointFinder(model, RecordedEmbeddings(model, cache, client, batch_size))


def check_recorded(recorded: Path) -> None:
    """Read every recorded reply. Raises: ModelError where one is damaged or contradicts another."""
    RoleCache(recorded)
