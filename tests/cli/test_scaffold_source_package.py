"""`bfcl scaffold-source-package`: what it writes, says and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from tests.cli.conftest import Ended
from tests.packs import TOOLS

Command = Callable[..., Ended]


@pytest.fixture
def catalog(project: Path) -> Path:
    path = project / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return path


def test_scaffold_source_package_writes_the_same_bytes_everywhere(bfcl: Command, catalog: Path) -> None:
    ended = bfcl("scaffold-source-package", "--tools", "tools.json", "--output", "new/../a/b", "--dependency-lock")
    assert (ended.status, ended.err) == (0, "")
    document = json.loads(ended.out)
    assert set(document) == {
        *("status", "written", "tools", "drafted_with_model", "review_required", "findings", "model_call", "model"),
    }
    assert document["written"] == ["backend.py", "dependency-lock.json", "fixtures.json"]
    written = {path.name: str(sha256_of(path.read_bytes())) for path in catalog.parent.joinpath("a/b").iterdir()}
    assert written == {
        "backend.py": "sha256:d9267c5ba0944ce9b749c8a916a11b269e15bf44148061fb2dbb8d8e3216a6d0",
        "dependency-lock.json": "sha256:0df655a80664926f8a3d58680050e4d291f9118b98cad1388aeca78824ba1029",
        "fixtures.json": "sha256:a44a0233ea24a2b540d0c256cd8ffd96cb1de8ee20f9f7ae44a66989a2d1f921",
    }


def test_scaffold_source_package_says_in_text_what_is_to_decide(bfcl: Command, catalog: Path) -> None:
    ended = bfcl(
        "scaffold-source-package", "--tools", "tools.json", "--output", ".", "--format", "text", "--dependency-lock"
    )
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert lines[:3] == ["wrote backend.py", "wrote dependency-lock.json", "wrote fixtures.json"]
    assert [line.split(" still hold ")[0].split(": lines")[0] for line in lines[3:-1]] == [
        "backend.py:3: review_marker_present",
        "fixtures.json:6: review_marker_present",
    ]
    assert lines[-1] == "next: decide what the marked lines ask, then bfcl check-source-package --source ."
    again = bfcl("check-source-package", "--source", ".", "--format", "text")
    assert again.status == 2
    assert again.out.splitlines() == [*lines[3:-1], "blocked . by review_marker_present"]


def test_scaffold_source_package_overwrites_nothing(bfcl: Command, catalog: Path) -> None:
    assert bfcl("scaffold-source-package", "--tools", "tools.json", "--output", "a").status == 0
    ended = bfcl("scaffold-source-package", "--tools", "absent.json", "--output", "a")
    tail = "is there already; a scaffold overwrites nothing\n  fix: move it away, or choose another `--output`\n"
    assert ended == Ended(1, "", f"a/backend.py: output_exists: {tail}a/fixtures.json: output_exists: {tail}")


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--rows", "0", "Invalid value for '--rows': 0 is not in the range x>=1."),
        ("--collection", " ", "Invalid value for '--collection': is blank; expected text"),
        ("--pending-status", "", "Invalid value for '--pending-status': is blank; expected text"),
    ],
)
def test_scaffold_source_package_refuses_options_without_sense(
    bfcl: Command, catalog: Path, flag: str, value: str, said: str
) -> None:
    ended = bfcl("scaffold-source-package", "--tools", "tools.json", "--output", "a", flag, value)
    assert (ended.status, ended.out) == (1, "")
    assert said in ended.err
    assert not (catalog.parent / "a").exists()


def test_scaffold_source_package_takes_the_confirmation_words_of_a_pack(bfcl: Command, catalog: Path) -> None:
    words = ("--confirmation-parameter", "ja", "--status-field", "stand", "--pending-status", "wartet")
    ended = bfcl("scaffold-source-package", "--tools", "tools.json", "--output", "a", *words)
    assert next(one["code"] for one in json.loads(ended.out)["findings"]) == "confirmation_parameter_missing"
    backend = (catalog.parent / "a" / "backend.py").read_text()
    assert "    if arguments.get('ja') is not True:\n" in backend
    assert "        return {\"tool\": 'start_firing', 'stand': 'wartet'}\n" in backend


def test_scaffold_source_package_offers_no_flag_of_what_it_cannot_do(bfcl: Command) -> None:
    out = bfcl("scaffold-source-package", "--help").out
    assert "--dependency-lock" in out
    for flag in ("--draft-with-model", "--error-vocabulary", "--cache", "--seed", "--temperature", "--model"):
        assert flag not in out
