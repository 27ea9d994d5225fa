"""Berkeley's public package loads, parses and checks what `bfcl_json` exports.

It runs in a virtual environment of its own, made once and kept in pytest's cache: the package pins versions that no
project shares. Of its dependencies only the two that its loader and parsers need are installed; see `berkeley_driver`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bfcl.exports.decode import StagedTable
from bfcl.exports.export import export_all
from bfcl.release.read import open_release
from tests.exports.staged import plain_row, row, row_with_arguments, stage
from tests.system.project import Project

PACKAGE = "bfcl-eval==2026.3.23"
NEEDED = ("filelock==3.20.0", "tenacity==9.1.2")
CONTROL = "filelock==3.20.0"
"""What any index has: where even this cannot be had, the index is out of reach."""

PATIENCE_S = 300
DRIVER = Path(__file__).with_name("berkeley_driver.py")


def pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments, "--retries", "1", "--no-deps"]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@pytest.fixture(scope="session")
def berkeley(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the package."""
    version = f"{PACKAGE}-python{sys.version_info.major}.{sys.version_info.minor}".replace("==", "-")
    cache = getattr(pytestconfig, "cache", None)
    home = (cache.mkdir("environments") if cache is not None else tmp_path_factory.mktemp("environments")) / version
    if not home.exists():
        made = home.with_name(f"{home.name}.{os.getpid()}")
        venv.create(made, with_pip=True, clear=True)
        python = made / "bin" / "python"
        installed = pip(python, "install", PACKAGE, *NEEDED)
        if installed.returncode:
            reachable = pip(python, "download", "--no-cache-dir", "--dest", str(made / "control"), CONTROL)
            if reachable.returncode:
                pytest.skip("no package index can be reached")
            pytest.fail(installed.stderr)
        try:
            # Nothing but the interpreter is called in it, and that finds its packages wherever they lie.
            made.rename(home)
        except OSError:
            assert home.exists()
    return home / "bin" / "python"


def ask(berkeley: Path, export: Path, work: Path) -> dict[str, Any]:
    """What the package says of an export."""
    environment = {**os.environ, "BFCL_PROJECT_ROOT": str(work), "PYTHONUTF8": "1"}
    environment.pop("PYTHONPATH", None)
    command = [str(berkeley), str(DRIVER), str(export), str(work / "data")]
    work.mkdir()
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


def assert_accepted(said: dict[str, Any], ids: list[str]) -> Counter[str]:
    """Every row is loaded, parsed and judged as its table says; the number of rows by what they are."""
    assert (said["questions"], said["answers"]) == (ids, ids)
    kinds: Counter[str] = Counter()
    for task_id, judged in said["rows"].items():
        assert (judged["executable"], judged["parsed_as_exported"], judged["tools_as_exported"]) == (True,) * 3, task_id
        assert judged["same"] == "valid", task_id
        calls = "changed" in judged
        assert judged["silent"] == ("multi_turn:empty_turn_model_response" if calls else "valid"), task_id
        assert judged["irrelevance"][0] == "valid", task_id
        if calls:
            assert judged["changed"] == "multi_turn:instance_state_mismatch", task_id
            assert set(judged["ast"]) == {"valid"}, task_id
            assert "valid" not in judged["ast_changed"], task_id
        else:
            assert judged["irrelevance"][1] == "multi_turn:irrelevance_error:decoder_success", task_id
        kinds["calls" if calls else "no calls"] += 1
        kinds["arguments changed"] += len(judged.get("ast_changed", ()))
    return kinds


def test_package_accepts_the_rows_of_a_run(berkeley: Path, policies: Project, tmp_path: Path) -> None:
    release = open_release(policies.run_dir)
    table = StagedTable(
        path=release.path("published"),
        file=release.published.file,
        content_hash=release.published.content_hash,
        task_ids=[published["task_id"] for published in release.rows("published")],
    )
    assert export_all(table, ["bfcl_json"], tmp_path / "exports").problems == []
    said = ask(berkeley, tmp_path / "exports" / "bfcl_json", tmp_path / "work")
    kinds = assert_accepted(said, list(table.task_ids))
    assert kinds["calls"] > kinds["no calls"] > 0
    assert kinds["arguments changed"] >= kinds["calls"]


ODD_VALUES = [
    {"valve": 'it\'s "quoted" \\ back', "bar": -3},
    {"valve": "Đường số 5, phường Bến Nghé\n\tΩ 🎉 \u2028", "bar": 0},
    {"valve": "read_alarm, not (a call)", "bar": 10**18},
]


def test_package_reads_odd_values_as_we_wrote_them(berkeley: Path, tmp_path: Path) -> None:
    odd = [row_with_arguments(arguments, number) for number, arguments in enumerate(ODD_VALUES, 1)]
    table = stage(tmp_path, [*odd, row(8), plain_row(9)])
    assert export_all(table, ["bfcl_json"], tmp_path / "exports").problems == []
    said = ask(berkeley, tmp_path / "exports" / "bfcl_json", tmp_path / "work")
    assert assert_accepted(said, list(table.task_ids))["calls"] == 4


def test_package_parses_every_json_type(berkeley: Path, tmp_path: Path) -> None:
    values = {
        "none": None,
        "yes": True,
        "number": 1.0,
        "count": 1,
        "text": "1",
        "many": [-1.5, [None]],
        "some": {"a": 1},
    }
    table = stage(tmp_path, [row_with_arguments(values)])
    assert export_all(table, ["bfcl_json"], tmp_path / "exports").problems == []
    (judged,) = ask(berkeley, tmp_path / "exports" / "bfcl_json", tmp_path / "work")["rows"].values()
    assert (judged["executable"], judged["parsed_as_exported"], judged["same"]) == (True, True, "valid")
