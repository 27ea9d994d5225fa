"""What does one validation come to: verdict and report of a loaded pack, for `doit validate` and its `bfcl` command?"""

from __future__ import annotations

from typing import NamedTuple

from bfcl.checks.report import report
from bfcl.checks.reuse import Reuse
from bfcl.checks.validate import validate_pack
from bfcl.config.loaded import LoadedConfig
from bfcl.graph.drift import check_drift
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.pack.model import Pack
from bfcl.records.verdict import PackVerdict


class Validated(NamedTuple):
    """A verdict and the bytes of its report."""

    verdict: PackVerdict
    report: bytes


def run_checks(loaded: LoadedConfig, pack: Pack, *, jobs: int, reuse: Reuse | None = None) -> Validated:
    """Run every check of `prepare` in a private copy of the pack, but for what `reuse` still knows.

    Raises: ConfigError where the configuration asks for a language no template offers; DriftError `pack_drift` where
    the pack changed meanwhile. Rule: pack.md §11, §12.
    """
    with LazyOracle(pack, loaded.config, jobs=jobs) as oracle:
        verdict = validate_pack(pack, loaded.config, oracle, reuse=reuse)
    check_drift(pack)
    return Validated(verdict, report(pack, loaded.config, verdict))
