"""Run `publish` once per kill point: each time in a forked child that SIGKILLs itself at its n-th step.

Arguments: directory, kind. `fresh` publishes into nothing, `rerun` withdraws an older release first as a run does,
`replace` publishes over it. Prints the names of the steps, one a line.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pyarrow.parquet  # noqa: F401  imported once here, not once per child

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.exports.tree_hash import tree_files, tree_hash
from bfcl.graph.publish import publish, withdraw
from tests.release.samples import decisions, request


def attempt(run_dir: Path, kind: str, kill_at: int, names: int) -> None:
    steps = 0

    def step(name: str) -> None:
        nonlocal steps
        os.write(names, f"{name}\n".encode())
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1

    if kind == "rerun":
        withdraw(run_dir, step)
    publish(run_dir, request(run_dir, decisions(4, rejected=(1,))), step)


def add_export(run_dir: Path) -> None:
    """Give a release an export that its manifest speaks of."""
    tree = run_dir / "exports" / "bfcl_json"
    tree.mkdir(parents=True)
    (tree / "file.jsonl").write_bytes(b"{}\n")
    report = run_dir / "exports" / "export_validation_report.json"
    report.write_bytes(b"{}\n")
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["exports"]["evaluated"] = True
    claim = {"enabled": True, "path": "exports/bfcl_json", "content_hash": tree_hash(tree_files(tree))}
    manifest["exports"]["formats"]["bfcl_json"] = claim
    manifest["artifacts"]["export_validation_report"] = {"content_hash": sha256_file(report)}
    path.write_bytes(readable_json(manifest))


def main() -> None:
    root, kind = Path(sys.argv[1]), sys.argv[2]
    old = root / "old"
    if kind != "fresh":
        child = os.fork()
        if child == 0:
            publish(old, request(old, decisions(3)))
            add_export(old)
            (old / ".stage12-abandoned").mkdir()
            (old / ".stage12-abandoned" / "benchmark.parquet").write_bytes(b"half")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    kill_at = 0
    while True:
        run_dir = root / f"{kill_at:02}" / "demo"
        if kind != "fresh":
            shutil.copytree(old, run_dir)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            attempt(run_dir, kind, kill_at, writer)
            os._exit(0)
        os.close(writer)
        status = os.waitpid(child, 0)[1]
        with os.fdopen(reader) as stream:
            names = stream.read().splitlines()
        if status == 0:
            print("\n".join(names))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        kill_at += 1


main()
