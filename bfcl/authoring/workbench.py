"""How does a tool of authors get a pack with its oracle running, without a build directory and without Gold?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bfcl.config.model import RunConfig
from bfcl.oracle.private import private_oracle
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.model import Pack
from bfcl.pack.own_config import load_own


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """A loaded pack, the configuration it is looked at under, and its running oracle."""

    pack: Pack
    config: RunConfig
    oracle: LocalOracle


@contextlib.contextmanager
def workbench(root: Path, *, jobs: int = 2) -> Iterator[Workbench]:
    """The pack at `root`, its oracle imported from a private copy that is gone afterwards.

    Raises: ConfigError, PackError with every problem.
    """
    loaded, pack = load_own(root)
    with private_oracle(pack, loaded.config, jobs=jobs) as oracle:
        yield Workbench(pack=pack, config=loaded.config, oracle=oracle)
