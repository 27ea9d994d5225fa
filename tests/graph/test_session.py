"""What a session clears away when it begins."""

from __future__ import annotations

from pathlib import Path

from tests.graph.chains import Chain, opened


def test_siblings_of_killed_writers_are_gone_once_a_session_holds_the_locks(project: Path) -> None:
    chain = Chain(project)
    places = [chain.tree.root / "refs" / "aaaa", chain.run.root, chain.run.stage_cache]
    for place in places:
        place.mkdir(parents=True)
        (place / f".render.json.{10**9}-0123456789ab").touch()
        (place / "render.json").touch()
    with opened(project):
        pass
    assert [[path.name for path in place.iterdir() if path.name != ".bfcl.lock"] for place in places[::2]] == [
        ["render.json"],
        ["render.json"],
    ]
    assert sorted(path.name for path in chain.run.root.iterdir()) == [".bfcl.lock", "render.json", "stage_cache"]
