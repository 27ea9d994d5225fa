"""The studio's rows are made once a session; they are values and nobody changes them."""

from __future__ import annotations

import pytest

from tests.evaluate.drive.benchmark import Benchmark, benchmark_of, studio_benchmark
from tests.system.project import REPOSITORY


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Up to four rows of a template for each turn policy."""
    return studio_benchmark(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="session")
def tiny() -> Benchmark:
    """Rows of the bundled tiny pack."""
    return benchmark_of(REPOSITORY / "packs" / "tiny_oracle_pack")
