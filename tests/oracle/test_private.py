"""A pack's oracle in a private copy, gone when nobody needs it any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.oracle.private import private_oracle
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from tests.packs import run_config, write_pack


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return load_pack(run_config(write_pack(tmp_path / "pack")), project=tmp_path)


def test_oracle_answers_from_a_copy_that_is_gone_afterwards(pack: Pack, temporary: Path) -> None:
    with private_oracle(pack, run_config(pack.root), jobs=1) as oracle:
        assert oracle.describe().tools == ("get_kiln", "get_firing", "start_firing")
        (copy,) = temporary.glob("bfcl-*-view-*")
        assert sorted(path.name for path in (copy / "tree").iterdir()) == [
            "README.md",
            "assertions.py",
            "backend.py",
            "fixtures.json",
            "manifest.yaml",
            "tools.json",
        ]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("content", [b"X = 1\n", None])
def test_file_that_moved_since_loading_is_never_imported(pack: Pack, temporary: Path, content: bytes | None) -> None:
    backend = pack.root / "backend.py"
    backend.unlink() if content is None else backend.write_bytes(content)
    with pytest.raises(DriftError) as caught, private_oracle(pack, run_config(pack.root), jobs=1):
        pass
    assert str(caught.value) == (
        "pack_drift: tree/backend.py: changed while the pack was being read\n"
        "  fix: run the same command again when nobody edits the pack"
    )
    assert list(temporary.iterdir()) == []
