"""What a pack's own code really sees of a held-out policy, asked from inside a worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.oracle.protocol import Episode, PlannedCall
from bfcl.oracle.view import lay_view, oracle_spec, shown_entries
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.load import load_pack
from tests.packs import Edit, append, held_out, put, rename, run_config, text, write_pack

READS_BESIDE_ITSELF = append(
    "backend.py",
    "\n\ndef _get_kiln(kiln_id):\n"
    "    import json, pathlib\n"
    "    here = pathlib.Path(__file__).resolve().parent\n"
    '    rows = json.loads((here / "fixtures.json").read_text())["kilns"]\n'
    "    found = sorted(path.name for path in here.rglob('*') if path.is_file())\n"
    '    return {"beside": [row["kiln_id"] for row in rows], "files": found}\n',
)


def seen(tmp_path: Path, *edits: Edit) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a call finds on the disk, and the state that reset made."""
    config = run_config(write_pack(tmp_path / "pack", *edits, READS_BESIDE_ITSELF))
    pack = load_pack(config, project=tmp_path)
    view = tmp_path / "view"
    lay_view(pack, view)
    episode = Episode(task_id="t", seed=0, calls=(PlannedCall(tool="get_kiln", arguments={"kiln_id": "K-1"}),))
    with LocalOracle(oracle_spec(pack, config, view), jobs=1) as oracle:
        (result,) = oracle.run([episode])
    assert result.breakdown is None
    return json.loads(result.results[0]), json.loads(result.states[0])


@pytest.mark.parametrize(("in_state", "kilns"), [(True, ["K-1", "K-2", "K-3"]), (False, ["K-1", "K-3"])])
def test_oracle_sees_reserved_rows_beside_itself_and_in_its_reset_or_in_neither(
    tmp_path: Path, in_state: bool, kilns: list[str]
) -> None:
    found, state = seen(tmp_path, held_out({"kilns": ["K-2"]}, fixtures_in_backend_state=in_state))
    assert found["beside"] == kilns
    assert list(state["kilns"]) == kilns


def test_oracle_never_sees_the_policy_itself(tmp_path: Path) -> None:
    found, _ = seen(tmp_path, held_out({"kilns": ["K-2"]}))
    assert found["files"] == [
        "README.md",
        "assertions.py",
        "backend.py",
        "fixtures.json",
        "manifest.yaml",
        "tools.json",
    ]


IDLE = {
    "fixtures": "fixtures.json",
    "task_templates": "task_templates.yaml",
    "validation_cases": "validation_cases.yaml",
}


@pytest.mark.parametrize("in_state", [True, False])
def test_files_that_an_override_made_idle_are_hidden_like_the_ones_in_use(tmp_path: Path, in_state: bool) -> None:
    moved = ("data/rows.json", '{"kilns": [{"kiln_id": "K-2"}]}')
    root = write_pack(
        tmp_path / "pack",
        held_out({"kilns": ["K-2"]}, fixtures_in_backend_state=in_state),
        rename("held_out.yaml", "policy.yaml"),
        put("manifest.yaml", ("held_out",), "policy.yaml"),
        text("held_out.yaml", "version: '0'\n"),
        put("manifest.yaml", ("paths",), {"fixtures": moved[0], "templates": "old/templates.yaml"}),
        text(*moved),
        text("old/templates.yaml", "[]\n"),
    )
    given = {}
    for key, name in IDLE.items():
        given[f"oracle_pack__{key}_path"] = tmp_path / name
        (tmp_path / name).write_bytes((root / name).read_bytes())
    shown = set(shown_entries(load_pack(run_config(root, **given), project=tmp_path)))
    always = {"assertions.py", "backend.py", "manifest.yaml", "tools.json", "README.md"}
    rows = {"fixtures.json", moved[0]} if in_state else set()
    assert shown == {f"tree/{name}" for name in always | rows}
