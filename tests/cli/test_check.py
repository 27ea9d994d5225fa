from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.watching import SEPARATOR
from tests.packs import ALL_POLICIES, Edit, put_template, text, write_pack

REPOSITORY = Path(__file__).resolve().parents[2]
TURN = put_template("kiln_status", ("turn_policy",), "single_trun")
LINE = (
    "packs/mine/task_templates.yaml:5:3: error unknown_turn_policy: `single_trun` is no turn policy; expected one of "
    "single_turn, multi_tool, missing_slot, confirmation, correction, dependent_call, negative_path, clarify_only, "
    "irrelevant (did you mean `single_turn`?)\n"
)


def _pack(project: Path, *edits: Edit) -> Path:
    return write_pack(project / "packs" / "mine", *edits, templates=ALL_POLICIES)


def test_good_pack_ends_with_0_and_its_summary(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project)
    assert bfcl("check", "packs/mine", "--format", "text") == (0, "packs/mine: 0 errors, 0 warnings\n", "")


def test_warnings_alone_end_with_0(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project, text("json.py", ""))
    ended = bfcl("check", "packs/mine", "--format", "text")
    assert (ended.status, ended.out.splitlines()[-1]) == (0, "packs/mine: 0 errors, 1 warning")


def test_errors_end_with_2_each_on_a_line(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project, TURN)
    ended = bfcl("check", "packs/mine", "--format", "text")
    assert ended == (2, f"{LINE}packs/mine: 1 error, 0 warnings\n", "")


def test_pack_that_does_not_load_ends_with_2_and_its_problems_on_stdout(
    bfcl: Callable[..., Any], project: Path
) -> None:
    _pack(project, text("tools.json", "["))
    ended = bfcl("check", "packs/mine", "--format", "json")
    document = json.loads(ended.out)
    assert (ended.status, ended.err, document["loads"]) == (2, "", False)
    assert [one["code"] for one in document["diagnostics"]] == ["pack_parse_error"]


def test_directory_without_a_pack_ends_with_1_and_nothing_on_stdout(bfcl: Callable[..., Any], project: Path) -> None:
    ended = bfcl("check", "nowhere")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "nowhere: pack_file_missing: `nowhere` holds no manifest.yaml; expected an oracle pack\n"
        "  fix: name the directory of a pack, or write one with `bfcl scaffold-oracle-pack`\n"
    )


@pytest.mark.parametrize("format_", ["json", "sarif"])
def test_refusal_under_a_format_of_programs_is_one_json_object(
    bfcl: Callable[..., Any], project: Path, format_: str
) -> None:
    ended = bfcl("check", "nowhere", "--format", format_)
    assert json.loads(ended.err)["code"] == "pack_file_missing"


def test_auto_prints_json_where_stdout_is_no_terminal(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project, TURN)
    document = json.loads(bfcl("check", "packs/mine").out)
    assert (document["errors"], document["diagnostics"][0]["line"]) == (1, 5)


def test_github_format_prints_workflow_commands(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project, TURN)
    ended = bfcl("check", "packs/mine", "--format", "github")
    assert ended.status == 2
    assert ended.out.startswith("::error file=packs/mine/task_templates.yaml,line=5,col=3,title=unknown_turn_policy::")


def test_sarif_format_prints_a_log(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project, TURN)
    log = json.loads(bfcl("check", "packs/mine", "--format", "sarif").out)
    assert log["runs"][0]["results"][0]["ruleId"] == "unknown_turn_policy"


def test_watch_takes_no_other_format_than_text(bfcl: Callable[..., Any], project: Path) -> None:
    _pack(project)
    ended = bfcl("check", "packs/mine", "--watch", "--format", "json")
    assert (ended.status, ended.out) == (1, "")


class Watching:
    """A running `bfcl check --watch`, its lines read as they come."""

    def __init__(self, project: Path) -> None:
        command = [sys.executable, "-m", "bfcl", "check", "packs/mine", "--watch"]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command,
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def until(self, ending: str) -> str:
        """What is printed up to a line that ends so."""
        found = ""
        while not found.endswith(ending):
            found += self._lines.get(timeout=60)
        return found


def test_watch_checks_again_on_save_and_ends_with_130_on_interrupt(project: Path) -> None:
    pack = _pack(project)
    watching = Watching(project)
    try:
        assert watching.until("warnings\n") == "packs/mine: 0 errors, 0 warnings\n"
        good = (pack / "task_templates.yaml").read_bytes()
        (pack / "task_templates.yaml").write_bytes(good.replace(b"single_turn", b"single_trun", 1))
        assert watching.until("warnings\n") == f"{SEPARATOR}\n+ {LINE}packs/mine: 1 error, 0 warnings\n"
        (pack / "manifest.yaml").rename(pack / "away.yaml")
        assert "pack_file_missing" in watching.until("scaffold-oracle-pack`\n")
        (pack / "away.yaml").rename(pack / "manifest.yaml")
        assert watching.until("warnings\n") == f"{SEPARATOR}\npacks/mine: 1 error, 0 warnings\n"
        (pack / "task_templates.yaml").write_bytes(good)
        assert watching.until("warnings\n") == f"{SEPARATOR}\n- {LINE}packs/mine: 0 errors, 0 warnings\n"
    finally:
        watching.process.send_signal(signal.SIGINT)
        _, errors = watching.process.communicate(timeout=60)
    assert watching.process.returncode == 130
    assert "Traceback" not in errors


def test_check_imports_no_arrow_and_no_worker(project: Path) -> None:
    _pack(project)
    code = (
        "import sys; from pathlib import Path; from bfcl.authoring.static_check import static_check; "
        "static_check(Path('packs/mine')); "
        "print(sorted({'pyarrow', 'httpx', 'rich', 'doit', 'bfcl.oracle.worker'} & sys.modules.keys()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0)


def test_loading_a_pack_imports_no_jsonschema(project: Path) -> None:
    _pack(project)
    code = (
        "import sys; from pathlib import Path; from tests.packs import run_config; "
        "from bfcl.pack.load import load_pack; "
        "load_pack(run_config(Path('packs/mine').absolute()), project=Path.cwd()); "
        "print('jsonschema' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
