"""The oracle's clock: one instant, read alike by every YAML reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.config.builder import GOOD, complaints, edited

CLOCKS = [
    pytest.param(
        {"oracle_runtime.clock": "tomorrow"},
        (
            'configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "tomorrow"; expected a '
            'quoted ISO-8601 time with `T` and a UTC offset, as "2026-03-02T09:00:00+00:00"'
        ),
        id="word",
    ),
    pytest.param(
        {"oracle_runtime.clock": "2026-03-02T09:00:00"},
        (
            'configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "2026-03-02T09:00:00", '
            "which has no UTC offset; expected a quoted ISO-8601 time with `T` and a UTC offset, as "
            '"2026-03-02T09:00:00+00:00"\n'
            "  fix: append the offset"
        ),
        id="without-offset",
    ),
    pytest.param(
        {"oracle_runtime.clock": "2026-03-02 09:00:00+00:00"},
        (
            'configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "2026-03-02 '
            '09:00:00+00:00"; expected a quoted ISO-8601 time with `T` and a UTC offset, as '
            '"2026-03-02T09:00:00+00:00"'
        ),
        id="blank-for-T",
    ),
    pytest.param(
        {"oracle_runtime.clock": "2026-02-30T09:00:00Z"},
        (
            'configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "2026-02-30T09:00:00Z"; '
            'expected a quoted ISO-8601 time with `T` and a UTC offset, as "2026-03-02T09:00:00+00:00"'
        ),
        id="no-such-day",
    ),
    pytest.param(
        {"oracle_runtime.clock": "9999-12-31T23:59:59-01:00"},
        (
            "configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "
            '"9999-12-31T23:59:59-01:00"; expected a year from 1900 to 9990'
        ),
        id="leaves-the-calendar-late",
    ),
    pytest.param(
        {"oracle_runtime.clock": "0001-01-01T00:00:00+14:00"},
        (
            "configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "
            '"0001-01-01T00:00:00+14:00"; expected a year from 1900 to 9990'
        ),
        id="leaves-the-calendar-early",
    ),
    pytest.param(
        {"oracle_runtime.clock": "x" * 99},
        (
            "configs/run.yaml:7: generation_config_invalid: oracle_runtime.clock is "
            '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...; expected a quoted ISO-8601 time '
            'with `T` and a UTC offset, as "2026-03-02T09:00:00+00:00"'
        ),
        id="long-text",
    ),
]


@pytest.mark.parametrize(("edits", "message"), CLOCKS)
def test_clock_refuses_what_is_no_fixed_instant(tmp_path: Path, edits: Mapping[str, Any], message: str) -> None:
    assert complaints(tmp_path, edited(edits), "prepare") == [message]


@pytest.mark.parametrize(
    "clock",
    ["2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00Z", "2026-03-02T09:00+05:30", "1900-06-01T00:00:00.250-11:00"],
)
def test_clock_accepts_quoted_instants(tmp_path: Path, clock: str) -> None:
    assert complaints(tmp_path, edited({"oracle_runtime.clock": clock})) == []


@pytest.mark.parametrize("block", ["oracle_runtime:\n  clock: {}\n", "oracle_runtime: {{clock: {}}}\n"])
def test_clock_refuses_an_unquoted_timestamp(tmp_path: Path, block: str) -> None:
    rest = yaml.safe_dump({key: value for key, value in GOOD.items() if key != "oracle_runtime"}, sort_keys=False)
    text = block.format("2026-03-02T09:00:00+00:00") + rest
    line = 2 if block.startswith("oracle_runtime:\n") else 1
    assert complaints(tmp_path, text, "prepare") == [
        (
            f"configs/run.yaml:{line}: generation_config_invalid: oracle_runtime.clock is 2026-03-02T09:00:00+00:00 "
            "without quotes, which YAML readers turn into their own date type; expected quoted text\n"
            '  fix: write `clock: "2026-03-02T09:00:00+00:00"`'
        )
    ]
    assert complaints(tmp_path, block.format('"2026-03-02T09:00:00+00:00"') + rest) == []
