"""How is a model asked for vectors in a run: over which connection, recorded where? Rule: generation.md §3.8, §4.2."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bfcl.config.model import RunConfig
from bfcl.modelio.cache import RoleCache
from bfcl.modelio.embeddings import RecordedEmbeddings
from bfcl.modelio.opening import open_client
from bfcl.modelio.transport import Transport
from bfcl.stages.balancing.embedding import KIND, EndpointFinder
from bfcl.stages.balancing.finder import Finder
from bfcl.stages.balancing.finders import finder_for


class Asking(NamedTuple):
    """How a model is asked, if it is."""

    transport: Transport
    environment: Mapping[str, str]
    batch_size: int
    sure: bool
    """Whether there will be two rows to compare, as far as a configuration says. With fewer nobody is asked."""


def endpoint_finder(model: str, recorded: Path, asking: Asking) -> EndpointFinder:
    """The finder `endpoint:<model>`, its answers recorded in a file that may be absent.

    A registry or a credential that is missing is told now where it is sure to be needed, else when it is.
    Raises: StageError `dedup_backend_unavailable`; ModelError as `RoleCache` and `open_client` do; ConfigError as
    `open_client` does.
    """
    cache = RoleCache(recorded)
    client = open_client(
        model,
        asking.environment,
        asking.transport,
        subject="semantic_deduplication_config.model_identifier",
        recorded=len(cache) > 0 or not asking.sure,
    )
    return EndpointFinder(model, RecordedEmbeddings(model, cache, client, asking.batch_size))


def configured_finder(config: RunConfig, recorded: Path, transport: Transport) -> Finder:
    """Who looks for near-duplicates under a configuration.

    Raises: StageError `dedup_backend_unavailable`; for a model, what `endpoint_finder` raises.
    """
    identifier = config.semantic_deduplication_config.model_identifier
    assert identifier is not None
    # One task a category may be one task in all, or none.
    several = config.task_generation.candidate_tasks_per_category > 1
    asking = Asking(transport, os.environ, config.ndd_batch_size, sure=several)
    return finder_for(identifier, {KIND: lambda model: endpoint_finder(model, recorded, asking)})


def check_recorded(recorded: Path) -> None:
    """Read every recorded reply. Raises: ModelError where one is damaged or contradicts another."""
    RoleCache(recorded)
