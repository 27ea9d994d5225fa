from __future__ import annotations

from bfcl.evaluate.artifacts.names import ARTIFACTS, CACHES, HELD_OUT_FILE
from bfcl.evaluate.drive import tool_trace_cache
from bfcl.evaluate.held_out.report import REPORT_FILE


def test_files_are_called_as_those_who_write_them_do() -> None:
    assert ARTIFACTS["tool_trace_cache"] == tool_trace_cache.FILE
    assert HELD_OUT_FILE == REPORT_FILE
    assert set(CACHES) <= ARTIFACTS.keys()
