"""The oracle of a validation: started by the first question, in a copy of its own that is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.graph.validation_oracle import LazyOracle
from bfcl.oracle.protocol import Episode, PlannedCall
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from tests.packs import run_config, write_pack


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return load_pack(run_config(write_pack(tmp_path / "pack")), project=tmp_path)


def test_oracle_nobody_asks_starts_nothing(pack: Pack, temporary: Path) -> None:
    with LazyOracle(pack, run_config(pack.root), jobs=2):
        assert list(temporary.iterdir()) == []


def test_oracle_answers_and_leaves_nothing_behind(pack: Pack, temporary: Path) -> None:
    look = Episode(task_id="t", seed=0, calls=(PlannedCall(tool="get_kiln", arguments={"kiln_id": "K-1"}),))
    with LazyOracle(pack, run_config(pack.root), jobs=2) as oracle:
        assert oracle.describe().tools == ("get_kiln", "get_firing", "start_firing")
        (once,) = oracle.run([look])
        (pair,) = oracle.replay([look])
        assert once == pair.a == pair.b
        assert oracle.suspects() == ()
        assert list(temporary.iterdir()) != []
    assert list(temporary.iterdir()) == []


def test_file_that_changed_since_loading_is_never_imported(pack: Pack, temporary: Path) -> None:
    (pack.root / "backend.py").write_text("X = 1\n", encoding="utf-8")
    with pytest.raises(DriftError) as caught, LazyOracle(pack, run_config(pack.root), jobs=2) as oracle:
        oracle.describe()
    assert caught.value.problems[0].code == "pack_drift"
    assert list(temporary.iterdir()) == []
