"""What does one validation come to: verdict and report of a loaded pack, for `doit validate` and its `bfcl` command?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from bfcl.checks.report import report
from bfcl.checks.validate import validate_pack
from bfcl.config.loaded import LoadedConfig
from bfcl.errors import DriftError
from bfcl.graph.validation_evidence import ValidationEvidence
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.pack.fingerprint import check_drift
from bfcl.pack.model import Pack
from bfcl.records.verdict import PackVerdict


class Validated(NamedTuple):
    """A verdict and the bytes of its report."""

    verdict: PackVerdict
    report: bytes


def run_checks(loaded: LoadedConfig, pack: Pack, *, jobs: int, evidence: ValidationEvidence | None = None) -> Validated:
    """Run every check of `prepare` in a private copy of the pack, but for what `evidence` still knows.

    Evidence takes in what was found, also where the run was cut short, but nothing of a pack that changed meanwhile.
    Raises: ConfigError where the configuration asks for a language no template offers; DriftError `pack_drift` where
    the pack changed meanwhile. Rule: pack.md §11, §12.
    """
    oracle = LazyOracle(pack, loaded.config, jobs=jobs)
    with loaded.placing(), _remembered(evidence, pack, oracle), oracle:
        verdict = validate_pack(pack, loaded.config, oracle, reuse=evidence)
    return Validated(verdict, report(pack, loaded.config, verdict))


@contextlib.contextmanager
def _remembered(evidence: ValidationEvidence | None, pack: Pack, oracle: LazyOracle) -> Iterator[None]:
    """Save what was found once the pack is known to be as it was. Raises: DriftError `pack_drift` where it is not."""
    try:
        yield
    except DriftError:
        raise
    except BaseException:
        with contextlib.suppress(DriftError):
            _save(evidence, pack, oracle)
        raise
    _save(evidence, pack, oracle)


def _save(evidence: ValidationEvidence | None, pack: Pack, oracle: LazyOracle) -> None:
    check_drift(pack)
    if evidence is not None:
        evidence.save(saw_pages=oracle.saw_pages)
