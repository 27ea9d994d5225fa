"""Which tool a stub is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.stubs.named import named_tool
from bfcl.errors import ConfigError
from bfcl.pack.own_config import load_own
from tests.packs import write_pack


def test_tool_is_found_by_its_name(tmp_path: Path) -> None:
    pack = load_own(write_pack(tmp_path / "pack")).pack
    assert named_tool(pack, "get_firing", of="case") is pack.tools[1]


@pytest.mark.parametrize(
    ("name", "fix"),
    [("get_klin", "did you mean `get_kiln`?"), ("sing", "use one of get_kiln, get_firing, start_firing")],
)
def test_unknown_tool_is_refused_with_what_there_is(tmp_path: Path, name: str, fix: str) -> None:
    pack = load_own(write_pack(tmp_path / "pack")).pack
    with pytest.raises(ConfigError) as caught:
        named_tool(pack, name, of="mine")
    assert str(caught.value) == f"stub_impossible: mine: the catalog has no tool `{name}`\n  fix: {fix}"
