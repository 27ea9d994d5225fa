"""A view that travels: laid out once for all threads of a process, gone when nobody needs it."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.errors import OracleError
from bfcl.graph.layout import BuildTree
from bfcl.graph.shipped_view import IDLE_S, LentOracle, Oracles, ShippedView, ship_view
from bfcl.graph.store import Store
from bfcl.graph.view import store_view
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Episode, PlannedCall
from bfcl.oracle.view import oracle_spec
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from tests.packs import Edit, replace, run_config, write_pack

LOOK = Episode(task_id="t", seed=0, calls=(PlannedCall(tool="get_kiln", arguments={"kiln_id": "K-1"}),))


def pack_of(root: Path, *edits: Edit) -> Pack:
    return load_pack(run_config(write_pack(root, *edits)), project=root.parent)


def shipped(pack: Pack, build: Path) -> ShippedView:
    """As it arrives."""
    store = Store(BuildTree(build))
    entry = store.find(store_view(store, pack))
    assert entry is not None
    view = ship_view(entry, oracle_spec(pack, run_config(pack.root), entry.path))
    arrived: ShippedView = pickle.loads(pickle.dumps(view))
    return arrived


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return pack_of(tmp_path / "pack")


@pytest.fixture
def view(pack: Pack, tmp_path: Path) -> ShippedView:
    return shipped(pack, tmp_path / "build")


@pytest.fixture
def oracles(temporary: Path) -> Iterator[Oracles]:
    found = Oracles(lambda: 2)
    yield found
    found.close()
    assert list(temporary.iterdir()) == []


def laid(temporary: Path) -> list[Path]:
    return sorted(temporary.glob("bfcl-*-view-*"))


def test_view_travels_without_the_place_it_came_from(view: ShippedView, tmp_path: Path) -> None:
    assert str(tmp_path).encode() not in pickle.dumps(view)
    assert view.spec.backend == "tree/backend.py"
    assert view.files.keys() >= {"tree/backend.py", "tree/assertions.py", "tree/fixtures.json"}
    assert not any("templates" in name for name in view.files)


def test_digest_of_a_view_tells_packs_apart_and_places_not(pack: Pack, view: ShippedView, tmp_path: Path) -> None:
    edited = pack_of(tmp_path / "other", replace("backend.py", "an in-memory oracle", "another oracle"))
    assert shipped(pack, tmp_path / "elsewhere").digest == view.digest
    assert shipped(edited, tmp_path / "build").digest != view.digest


def test_lent_oracle_answers_as_one_beside_the_store(
    oracles: Oracles, view: ShippedView, pack: Pack, temporary: Path
) -> None:
    with private_oracle(pack, run_config(pack.root), jobs=2) as beside:
        expected = (beside.describe(), beside.run([LOOK]), beside.replay([LOOK]), beside.suspects(), beside.isolation())
    lent = LentOracle(view, oracles)
    assert (laid(temporary), oracles.isolation) == ([], None)
    assert (lent.describe(), lent.run([LOOK]), lent.replay([LOOK]), lent.suspects(), oracles.isolation) == expected
    assert len(laid(temporary)) == 1


def test_threads_share_one_oracle(oracles: Oracles, view: ShippedView, temporary: Path) -> None:
    meeting = threading.Barrier(2, timeout=60)
    met: list[int] = []

    def use() -> None:
        with oracles.lent(view) as oracle:
            meeting.wait()
            met.append(id(oracle))
            oracle.run([LOOK])
            meeting.wait()

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(met) == 2
    assert len(set(met)) == 1
    assert len(laid(temporary)) == 1


def test_oracle_ends_when_another_view_is_asked_for_but_not_while_it_is_used(
    oracles: Oracles, view: ShippedView, tmp_path: Path, temporary: Path
) -> None:
    edited = pack_of(tmp_path / "other", replace("backend.py", "an in-memory oracle", "another oracle"))
    other = shipped(edited, tmp_path / "build")
    with oracles.lent(view) as first:
        with oracles.lent(other) as second:
            assert first.run([LOOK]) == second.run([LOOK])
            assert len(laid(temporary)) == 2
        assert len(laid(temporary)) == 1
    LentOracle(other, oracles).run([LOOK])
    assert len(laid(temporary)) == 1


def test_oracle_that_nothing_asks_ends_by_itself(view: ShippedView, temporary: Path) -> None:
    hasty = Oracles(lambda: 1, idle_s=0)
    assert IDLE_S > 0
    LentOracle(view, hasty).run([LOOK])
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    assert list(temporary.iterdir()) == []


def test_close_lets_whoever_waits_return_at_once(pack: Pack, tmp_path: Path, temporary: Path) -> None:
    endless = replace(
        "backend.py", "def _get_kiln(kiln_id):\n", "def _get_kiln(kiln_id):\n    while True:\n        pass\n"
    )
    stuck = shipped(pack_of(tmp_path / "stuck", endless), tmp_path / "build")
    oracles = Oracles(lambda: 1)
    asked, told = threading.Event(), list[str]()

    def look() -> None:
        with oracles.lent(stuck) as oracle:
            asked.set()
            oracle.run([LOOK])

    def ask() -> None:
        with pytest.raises(OracleError) as caught:
            look()
        told.append(caught.value.problems[0].code)

    asking = threading.Thread(target=ask)
    asking.start()
    asked.wait()
    oracles.close()
    asking.join()
    assert told == ["oracle_stopped"]
    assert list(temporary.iterdir()) == []
