"""Whatever stands in a pack's files, loading and checking end in problems with codes: no traceback, no hang.

The default suite plays a few hundred damaged packs. `BFCL_SLOW=1` plays thousands more.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.authoring.catalogue import catalogue
from bfcl.authoring.diagnostics import as_json, github, sarif, text
from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.static_check import static_check
from bfcl.canonical import Json, readable_json
from bfcl.errors import BfclError, Problem
from bfcl.pack.load import load_pack, read_pack
from bfcl.pack.own_config import own_config
from tests.pack.mutants import GOOD, damaged, mutants
from tests.packs import ALL_POLICIES, dump, write_pack

SLOW = os.environ.get("BFCL_SLOW") == "1"
EXAMPLES = 3000 if SLOW else 40
HANG_S = 60
FILES = {
    "manifest": "manifest.yaml",
    "tools": "tools.json",
    "fixtures": "fixtures.json",
    "task_templates": "task_templates.yaml",
    "validation_cases": "validation_cases.yaml",
    "held_out": "held_out.yaml",
}
CODE = re.compile(r"[a-z][a-z0-9_]*\Z")
fuzzed = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a good pack's files."""
    root = write_pack(tmp_path_factory.mktemp("good") / "pack", templates=ALL_POLICIES)
    (root / "held_out.yaml").write_text(dump("held_out.yaml", GOOD["held_out"]), encoding="utf-8")
    return {path.name: path.read_bytes() for path in sorted(root.iterdir())}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory, whole: dict[str, bytes]) -> Path:
    """A directory that every example fills anew."""
    return tmp_path_factory.mktemp("fuzzed") / "pack"


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def stop(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still at it after {HANG_S} s, in {frame}")

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _lay(pack: Path, files: dict[str, bytes]) -> None:
    pack.mkdir(exist_ok=True)
    for name, data in files.items():
        (pack / name).write_bytes(data)


def _refused(call: Callable[[], object]) -> tuple[Problem, ...]:
    """The problems a call ends in; any other exception is a bug."""
    try:
        call()
    except BfclError as error:
        return error.problems
    return ()


def _holds(pack: Path) -> None:
    """The check ends in diagnostics that every format can tell; the loader refuses what the check says it refuses."""
    signal.alarm(HANG_S)
    told: list[Checked] = []
    for problem in _refused(lambda: told.append(static_check(pack))):
        assert CODE.match(problem.code)
        assert problem.message.strip()
    for checked in told:
        _tells(checked)
    if told and not _refused(lambda: own_config(pack)):
        loaded = own_config(pack)
        refused = _refused(lambda: load_pack(loaded.config, project=loaded.project))
        assert refused == read_pack(loaded.config, project=loaded.project).problems
        assert all(checked.loads is not bool(refused) for checked in told)
    signal.alarm(0)


def _tells(checked: Checked) -> None:
    for one in checked.diagnostics:
        assert CODE.match(one.code), one
        assert one.message.strip(), one
        assert (one.line or 1) >= 1, one
        assert (one.column or 1) >= 1, one
    assert len(text.document(checked).split("\n")) == len(checked.diagnostics) + 2
    assert len(github.document(checked).split("\n")) == len(checked.diagnostics) + 1
    readable_json(as_json.document(checked))
    readable_json(sarif.document(checked, catalogue()))


@fuzzed
@given(data=st.data())
def test_pack_with_damaged_bytes_ends_in_problems(pack: Path, whole: dict[str, bytes], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(whole)))
    _lay(pack, {**whole, name: data.draw(damaged(whole[name]))})
    _holds(pack)


@fuzzed
@given(data=st.data())
def test_pack_with_damaged_values_ends_in_problems(pack: Path, whole: dict[str, bytes], data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(FILES)), min_size=1, max_size=3, unique=True))
    files = {FILES[name]: _written(FILES[name], data.draw(mutants(name))) for name in names}
    _lay(pack, {**whole, **files})
    _holds(pack)


def _written(name: str, value: Json) -> bytes:
    return dump(name, value).encode()


@fuzzed
@given(data=st.data())
def test_pack_with_a_missing_file_ends_in_problems(pack: Path, whole: dict[str, bytes], data: st.DataObject) -> None:
    missing = data.draw(st.sets(st.sampled_from(sorted(whole)), min_size=1, max_size=3))
    other = data.draw(st.sampled_from(sorted(whole)))
    _lay(pack, {**whole, other: data.draw(damaged(whole[other]))})
    for name in missing:
        (pack / name).unlink()
    _holds(pack)
