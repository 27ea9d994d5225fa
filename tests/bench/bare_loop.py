"""Seconds that a project's replays take in a plain loop: import the backend, reset and call, no isolation.

Usage: bare_loop.py PROJECT PACK PASSES
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("backend", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(project: Path, pack: Path, passes: int) -> None:
    sys.path.insert(0, str(pack))
    backend = load(pack / "backend.py")
    fixtures = json.loads((pack / "fixtures.json").read_text(encoding="utf-8"))
    (table,) = project.glob("build/runs/*/stage_cache/expected_traces.parquet")
    traces = [json.loads(text) for text in pyarrow.parquet.read_table(table)["expected_tool_calls"].to_pylist()]
    started = time.perf_counter()
    for _ in range(passes):
        for calls in traces:
            ctx = SimpleNamespace(clock="2026-03-02T09:00:00+07:00", seed=1, timeout_s=5.0, task_id="t", turn_index=0)
            backend.reset(ctx=ctx, fixtures=fixtures)
            for call in calls:
                json.dumps(backend.call_tool(call["function_name"], call["arguments"], ctx=ctx))
            json.dumps(backend.get_state())
    print(time.perf_counter() - started)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
