"""Tiny packs, written out per test, and the oracles that run them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from bfcl.oracle.protocol import Episode, OracleSpec, PlannedCall
from bfcl.oracle.worker import LocalOracle

SEED_OF_TROUBLE = 1

_BACKEND = """
import sys

SEED = None

def list_tools():
    return ["look"]

def reset(*, ctx, fixtures=None):
    global SEED
    SEED = ctx.seed
    if SEED == 1:
        {reset}

def call_tool(name, arguments, *, ctx):
    if SEED == 1:
        {call}
    return {{"seen": arguments}}

def get_state():
    if SEED == 1:
        {state}
    return {{"seed": SEED}}
"""
_ASSERTIONS = """
def assert_fine(*, state, trace, task, ctx):
    if ctx.seed == 1:
        {judge}
"""


class Packs:
    """Writes packs below a directory and opens their oracles; everything is closed when the test ends."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open: list[LocalOracle] = []

    def view(self, backend: str, assertions: str = "", **files: str) -> Path:
        """A view directory. Keyword `helper="..."` becomes `helper.py`."""
        view = self.directory / f"view-{len(list(self.directory.iterdir()))}"
        view.mkdir()
        for name, text in {"backend": backend, "assertions": assertions, **files}.items():
            (view / f"{name}.py").write_text(dedent(text), encoding="utf-8")
        return view

    def spec(self, view: Path, *, fixtures: str | None = None, **timeouts: float) -> OracleSpec:
        """Generous timeouts unless a test names its own: `tool_s=0.3`, `import_s=0.3`."""
        return OracleSpec(
            view=str(view),
            backend=str(view / "backend.py"),
            assertions=str(view / "assertions.py"),
            fixtures=fixtures,
            clock="2026-03-02T10:00:00+07:00",
            tool_timeout_s=timeouts.get("tool_s", 30),
            assertion_timeout_s=timeouts.get("assertion_s", 30),
            import_timeout_s=timeouts.get("import_s", 30),
            reset_timeout_s=timeouts.get("reset_s", 30),
            episode_timeout_s=timeouts.get("episode_s", 60),
        )

    def oracle(self, backend: str, assertions: str = "", *, jobs: int = 2, **options: object) -> LocalOracle:
        """An oracle over a pack of two files. Options: `fixtures`, timeouts, `fork`, `grace_s`, further modules."""
        names = ("tool_s", "assertion_s", "import_s", "reset_s", "episode_s", "fixtures")
        settings = {name: options.pop(name) for name in names if name in options}
        switches = {name: options.pop(name) for name in ("fork", "grace_s") if name in options}
        view = self.view(backend, assertions, **options)  # type: ignore[arg-type]
        opened = LocalOracle(self.spec(view, **settings), jobs=jobs, **switches)  # type: ignore[arg-type]
        self._open.append(opened)
        return opened

    def troubled(
        self, *, reset: str = "pass", call: str = "pass", state: str = "pass", judge: str = "pass", **options: object
    ) -> LocalOracle:
        """A pack that misbehaves in one place, and only for the seed 1."""
        indent = "\n        "
        parts = {name: text.replace("\n", indent) for name, text in (("reset", reset), ("call", call))}
        backend = _BACKEND.format(**parts, state=state.replace("\n", indent))
        return self.oracle(backend, _ASSERTIONS.format(judge=judge.replace("\n", indent)), **options)

    def close(self) -> None:
        for opened in self._open:
            opened.close()


@pytest.fixture
def packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packs]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    built = Packs(tmp_path)
    yield built
    built.close()
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.fixture
def worlds(tmp_path: Path) -> Callable[[], set[int]]:
    """Every process that this test's worlds started, wherever it went: their environment names the test's directory."""

    def running() -> set[int]:
        return {int(path.name) for path in Path("/proc").glob("[0-9]*") if _mentions(path, bytes(tmp_path))}

    return running


def _mentions(process: Path, directory: bytes) -> bool:
    try:
        return b"HOME=" + directory in (process / "environ").read_bytes()
    except OSError:
        return False


def children_of(process: int) -> set[int]:
    """Processes whose parent is this one, from /proc."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.add(int(path.parent.name))
        except (OSError, IndexError, ValueError):
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Every test of this room must leave no process behind."""
    before = children_of(os.getpid())
    yield
    assert children_of(os.getpid()) - before == set()


@pytest.fixture
def episode() -> Callable[..., Episode]:
    """`episode(seed=1, calls=2, assertions=(...), observe=...)`: calls of `look` with `{"n": index}`."""

    def build(seed: int = SEED_OF_TROUBLE, *, calls: int = 1, **fields: object) -> Episode:
        planned = tuple(PlannedCall(tool="look", arguments={"n": index}, turn_index=index) for index in range(calls))
        return Episode(**{"task_id": f"task-{seed}", "seed": seed, "calls": planned, **fields})  # type: ignore[arg-type]

    return build
