"""The commands of the page "Score a model", run as they stand there, from a published run to an audited result."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.system.project import PATIENCE_S, REPOSITORY

PAGES = REPOSITORY / "docs" / "evaluation"
PORT = "8765"


def commands(page: str, heading: str) -> list[str]:
    """The lines of a section's shell examples."""
    _, found, rest = (PAGES / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found
    blocks = re.findall(r"```sh\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


class Shell:
    """A checkout's part of it in a directory, on a port that is free."""

    def __init__(self, root: Path, port: int) -> None:
        self.root = root
        self._port = str(port)
        self._environment = {"PATH": "", "PYTHONPATH": str(REPOSITORY), "LANG": "C.UTF-8", "TMPDIR": str(root)}

    def arguments(self, command: str) -> list[str]:
        program, *rest = shlex.split(command.replace(PORT, self._port), comments=True)
        assert program in ("bfcl", "doit")
        return [sys.executable, "-m", program, *rest]

    def run(self, command: str) -> str:
        """What a command prints on standard output; it has to end well."""
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self._environment[name] = value
            return ""
        if command.startswith("cp -r "):
            source, target = command.removeprefix("cp -r ").split()
            shutil.copytree(self.root / source, self.root / target)
            return ""
        done = subprocess.run(
            self.arguments(command),
            cwd=self.root,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def beside(self, command: str) -> Iterator[None]:
        """A command that runs until the block ends, once it has printed a line."""
        process = subprocess.Popen(
            self.arguments(command), cwd=self.root, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline()
            yield
        finally:
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
            process.stdout.close()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "configs").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    for name in ("tiny.yaml", "eval.tiny.yaml", "eval.cli.yaml"):
        text = (REPOSITORY / "configs" / name).read_text(encoding="utf-8")
        (tmp_path / "configs" / name).write_text(text.replace(PORT, str(port)), encoding="utf-8")
    shutil.copytree(REPOSITORY / "packs" / "tiny_oracle_pack", tmp_path / "packs" / "tiny_oracle_pack")
    shutil.copy(REPOSITORY / "dodo.py", tmp_path)
    return Shell(tmp_path, port)


def test_commands_of_the_page_lead_from_a_run_to_an_audited_result(shell: Shell) -> None:
    generate, serve, *evaluate = commands("start.md", "Without a model")
    shell.run(generate)
    with shell.beside(serve):
        export, dry, real = evaluate
        shell.run(export)
        assert 'status: "preflight_passed"' in shell.run(dry)
        assert not (shell.root / "build" / "eval").exists()
        assert 'status: "completed"' in shell.run(real)
    (result,) = (shell.root / "build" / "eval").iterdir()
    report = json.loads((result / "eval_report.json").read_bytes())
    assert report["candidates"][0]["metrics"]["task_success_rate"]["value"] == 1
    # Nobody listens any more: what follows is made of the records.
    placeholder = "build/eval/mine-0123456789abcdef"
    later = [*commands("start.md", "Reading the result"), *commands("defend.md", "Can I make it again?")]
    names = {
        "mine-0123456789abcdef": result.name,
        "build/runs/mine": "build/runs/tiny",
        "packs/mine": "packs/tiny_oracle_pack",
    }
    (shell.root / "kept").mkdir()
    for written in later:
        assert placeholder in written or written.startswith("cp -r ")
        command = written
        for name, ours in names.items():
            command = command.replace(name, ours)
        shell.run(command)
    assert len(later) == 6
    assert 'status: "completed"' in shell.run(real)
    assert 'status: "completed"' in shell.run("bfcl eval --config configs/eval.cli.yaml")
