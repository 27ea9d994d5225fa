"""`bfcl check-source-package`: statuses, documents, text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.authoring.source.sources import BACKEND, write_source
from tests.cli.conftest import Ended

Command = Callable[..., Ended]


def test_check_source_package_passes_a_good_package(bfcl: Command, project: Path) -> None:
    write_source(project)
    ended = bfcl("check-source-package", "--source", "source")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out) == {
        "blocking": [],
        "findings": [],
        "fixture_collections": ["kilns"],
        "required_symbols": ["list_tools", "reset", "call_tool", "get_state"],
        "source": "source",
        "status": "pass",
        "tools": ["get_kiln"],
    }
    ended = bfcl("check-source-package", "--source", "source", "--format", "text")
    assert ended == Ended(0, "pass source: 1 tools, nothing blocks\n", "")


def test_check_source_package_ends_in_2_where_a_finding_blocks(bfcl: Command, project: Path) -> None:
    write_source(project, {"backend.py": f"{BACKEND}\n\nimport sys\n", "dependency-lock.json": None})
    ended = bfcl("check-source-package", "--source", "source")
    document = json.loads(ended.out)
    assert (ended.status, document["status"], document["blocking"]) == (2, "blocked", ["execution_policy_violation"])
    assert document["findings"][0] == {
        "code": "execution_policy_violation",
        "detail": "`sys` is imported, which is not permitted; instead: nothing of the interpreter is needed to answer "
        "a call",
        "file": "backend.py",
        "impact": "blocks_all_probes",
        "line": 22,
    }
    text = bfcl("check-source-package", "--source", "source", "--format", "text")
    assert text.status == 2
    assert text.out.splitlines()[0].startswith("source/backend.py:22: execution_policy_violation: `sys` is imported")
    assert text.out.splitlines()[1].startswith("source/dependency-lock.json: dependency_lock_missing: there is no ")
    assert text.out.splitlines()[2:] == ["blocked source by execution_policy_violation"]


def test_check_source_package_blocks_on_advice_when_strict(bfcl: Command, project: Path) -> None:
    write_source(project, {"dependency-lock.json": None})
    assert bfcl("check-source-package", "--source", "source").status == 0
    ended = bfcl("check-source-package", "--source", "source", "--strict")
    assert (ended.status, json.loads(ended.out)["blocking"]) == (2, ["dependency_lock_missing"])


def test_check_source_package_ends_in_1_without_a_verdict(bfcl: Command, project: Path) -> None:
    write_source(project, {"backend.py": "def\n", "tools.json": None})
    ended = bfcl("check-source-package", "--source", "source", "--tools", "reviewed.json")
    assert ended == Ended(
        1,
        "",
        "reviewed.json: reviewed_schema_missing: does not exist\n"
        "  fix: put the reviewed tool catalog there, or name it with `--tools`\n"
        "source/backend.py:1: source_syntax_invalid: not Python: invalid syntax\n",
    )
