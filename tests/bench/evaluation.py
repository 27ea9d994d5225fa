"""What an evaluation costs us: `python -m tests.bench.evaluation`. The figures are in docs/performance.md.

A scripted candidate in a process of its own answers at once, or after a fixed latency. CPU time is that of `bfcl eval`
less that of a dry run, once alone and once with the worker that runs pack code; a turn is one answered request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.bench.measure import REPOSITORY, bundled, doit

IN_FLIGHT = 64


class Cost(NamedTuple):
    own_s: float
    """CPU of the command's own process, to a hundredth of a second."""
    cpu_s: float
    """CPU of all its processes."""
    wall_s: float
    peak_mib: int


def evaluate(project: Path, *arguments: str) -> Cost:
    """One `bfcl eval`, which must succeed: CPU of it and all its processes, its time, and its own most memory."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "SCRIPTED_CANDIDATE_KEY": "none"}
    command = [sys.executable, "-m", "bfcl", "eval", "--config", "configs/eval.yaml", *arguments]
    with (project / "said.txt").open("wb") as said:
        started = os.times().elapsed
        process = subprocess.Popen(command, cwd=project, env=environment, stdout=said, stderr=said)
        own_s, ended = 0.0, 0
        while ended == 0:
            own_s = _own_cpu(process.pid) or own_s
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.02)
        wall_s = os.times().elapsed - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bfcl eval failed:\n{(project / 'said.txt').read_text(encoding='utf-8')}")
    return Cost(own_s, usage.ru_utime + usage.ru_stime, wall_s, round(usage.ru_maxrss / 1024))


def _own_cpu(process: int) -> float:
    """CPU of a process without its children, 0 once it has ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def configure(project: Path, port: int, modes: Sequence[str], output: str) -> None:
    """The scoring configuration of one candidate that answers rightly."""
    settings = yaml.safe_load((REPOSITORY / "configs" / "eval.tiny.yaml").read_text(encoding="utf-8"))
    settings["source_run_manifest"] = "../build/runs/banking_vn_publication/run_manifest.json"
    settings["source_oracle"] = {
        "kind": "python",
        "pack_manifest": "../packs/banking_vn_oracle_pack/manifest.yaml",
        "resource": "../packs/banking_vn_oracle_pack/backend.py",
    }
    settings["eval"]["mode"] = list(modes)
    settings["limits"]["max_parallel_tasks"] = IN_FLIGHT
    settings["candidates"][0]["api"]["base_url"] = f"http://127.0.0.1:{port}/v1"
    settings["outputs"]["output_dir"] = f"../build/eval/{output}"
    (project / "configs" / "eval.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")


def turns(project: Path, output: str) -> int:
    """Requests that were answered."""
    lines = (project / "build" / "eval" / output / "candidate_io_cache.jsonl").read_bytes().splitlines()
    return sum(json.loads(line)["record_type"] == "completion" for line in lines)


def measure(project: Path, latency_ms: int) -> None:
    """Both modes on the publication-size run, against a candidate of this latency."""
    (manifest,) = project.glob("build/runs/*/run_manifest.json")
    command = [sys.executable, "-m", "bfcl", "serve-candidate", str(manifest.parent), "--port", "0", "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        [*command, "--latency-ms", str(latency_ms)], env=environment, stdout=subprocess.PIPE, text=True
    ) as serving:
        assert serving.stdout is not None
        port = int(json.loads(serving.stdout.readline())["port"])
        for modes in (["trace"], ["trace", "executable"]):
            name = f"{len(modes)}-{latency_ms}"
            configure(project, port, modes, name)
            start = evaluate(project, "--dry-run")
            cost = evaluate(project)
            asked = turns(project, name)
            print(
                f"evaluation: {'+'.join(modes)}, latency {latency_ms} ms, {IN_FLIGHT} in flight: {asked} turns in "
                f"{cost.wall_s:.1f} s, {1000 * (cost.own_s - start.own_s) / asked:.2f} ms CPU a turn, "
                f"{1000 * (cost.cpu_s - start.cpu_s) / asked:.2f} ms with the worker, peak "
                f"{cost.peak_mib} MiB; dry run {start.cpu_s:.1f} s CPU",
                flush=True,
            )
        serving.terminate()


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = bundled(Path(directory) / "project", "banking_vn_oracle_pack")
        doit(project, "generate", "config=configs/banking_vn.publication.yaml")
        for latency_ms in (0, 500):
            measure(project, latency_ms)


if __name__ == "__main__":
    main()
