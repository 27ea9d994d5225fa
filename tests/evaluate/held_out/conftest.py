"""One benchmark for all tests of the room: values that nobody changes."""

from __future__ import annotations

import pytest

from bfcl.evaluate.held_out.private import PrivateTasks
from bfcl.evaluate.held_out.report import HeldOutReport
from tests.evaluate.held_out.bench import Bench, held_out_bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The studio's benchmark, asked for in the held-out mode alone."""
    return held_out_bench(tmp_path_factory.mktemp("held-out"))


@pytest.fixture(scope="session")
def private(bench: Bench) -> PrivateTasks:
    """Its private tasks."""
    return bench.private()


@pytest.fixture(scope="session")
def report(bench: Bench, private: PrivateTasks) -> HeldOutReport:
    """Of a candidate without fault."""
    return bench.run(private, bench.answering(private, fails=lambda _: False))
