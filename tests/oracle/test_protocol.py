"""The five deadlines, under one name each wherever they are asked for."""

from __future__ import annotations

import dataclasses

from bfcl.config.model import OracleRuntime
from bfcl.oracle.protocol import TIMEOUTS, OracleSpec


def test_timeouts_name_every_deadline_of_the_configuration_and_of_the_worlds() -> None:
    for record in (OracleRuntime, OracleSpec):
        named = {field.name for field in dataclasses.fields(record) if field.name.endswith("_timeout_s")}
        assert named == set(TIMEOUTS)
    assert len(TIMEOUTS) == 5
