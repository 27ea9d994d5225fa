"""How does one get a pack's oracle without a store: imported from a private copy that is gone afterwards?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from bfcl.config.model import RunConfig
from bfcl.files import temporary_directory
from bfcl.oracle.view import lay_view, oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.model import Pack


@contextlib.contextmanager
def private_oracle(pack: Pack, config: RunConfig, *, jobs: int) -> Iterator[LocalOracle]:
    """The running oracle of a pack. Two of them share nothing on disk, so they need no lock.

    Raises: DriftError `pack_drift` where a file of the view changed since the pack was loaded; PackError
    `unsupported_config_feature` where the oracle is a service.
    """
    with temporary_directory("view") as directory:
        # The worker compares paths as the kernel tells them.
        place = Path(directory).resolve()
        lay_view(pack, place)
        with LocalOracle(oracle_spec(pack, config, place), jobs=jobs) as oracle:
            yield oracle
