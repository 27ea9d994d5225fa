"""New bytes for a pack's file: judged in a copy, written at once, or refused with the pack untouched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bfcl.authoring.stubs.added import Added, added
from bfcl.authoring.stubs.append import appended_yaml
from bfcl.authoring.stubs.append_python import appended_assertion
from bfcl.authoring.stubs.code import new_assertion
from bfcl.errors import PackError
from bfcl.pack.model import Role
from bfcl.pack.own_config import load_own
from tests.packs import ALL_POLICIES, CASES, TEMPLATES, TOOLS, config_mapping, put, put_template, write_pack

NOTHING = "append_impossible: nothing was added: with it the pack would have the errors that follow"


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_pack(tmp_path / "pack", templates=ALL_POLICIES)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def grown(pack: Path, role: Role, data: bytes) -> Added:
    return added(pack, role, lambda _seen, _shown: data)


def with_case(pack: Path, **case: Any) -> bytes:
    return (pack / "validation_cases.yaml").read_bytes() + yaml.safe_dump([case]).encode()


def refusal(pack: Path, role: Role, data: bytes) -> list[str]:
    """Every line of the refusal, once it is sure that nothing was touched."""
    before = files(pack.parent)
    with pytest.raises(PackError) as caught:
        grown(pack, role, data)
    assert files(pack.parent) == before
    return [str(problem) for problem in caught.value.problems]


FOUND = {"tool": "get_kiln", "arguments": {"kiln_id": "K-2"}, "expect": {"result_class": "success"}}


def test_good_case_is_written_and_nothing_is_said(pack: Path) -> None:
    before = files(pack)
    data = with_case(pack, id="again", **FOUND)
    path = pack / "validation_cases.yaml"
    assert grown(pack, "validation_cases", data) == Added(path.resolve(), (), ())
    assert files(pack) == {**before, "validation_cases.yaml": data}


def test_pack_that_would_not_load_is_refused_with_every_reason(pack: Path) -> None:
    first, *reasons = refusal(pack, "validation_cases", with_case(pack, id="kiln_found", **FOUND))
    assert first == f"pack/validation_cases.yaml: {NOTHING}"
    assert len(reasons) == 1
    assert reasons[0].startswith("pack/validation_cases.yaml:")
    assert "kiln_found" in reasons[0]


def test_pack_with_a_new_error_is_refused_naming_it(pack: Path) -> None:
    first, *reasons = refusal(pack, "validation_cases", with_case(pack, id="new", **{**FOUND, "tool": "get_klin"}))
    assert first == f"pack/validation_cases.yaml: {NOTHING}"
    assert [one.split(": ")[1] for one in reasons] == ["unknown_tool"]
    assert "get_klin" in reasons[0]


def test_errors_that_were_there_before_stand_against_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pack = write_pack(tmp_path / "pack", put_template("kiln_status", ["success_assertions"], ["assert_gone"]))
    data = with_case(pack, id="again", **FOUND)
    assert grown(pack, "validation_cases", data).warnings == ()
    assert (pack / "validation_cases.yaml").read_bytes() == data


def test_new_tool_is_written_and_its_open_work_told(pack: Path) -> None:
    tool = {"type": "function", "function": {**TOOLS[0]["function"], "name": "close_kiln"}}
    done = grown(pack, "tools", json.dumps([*TOOLS, tool]).encode())
    assert [(one.code, one.path) for one in done.lacking] == [
        ("schema_without_implementation", "pack/tools.json"),
        ("incomplete_validation_coverage", "pack/tools.json"),
        ("incomplete_validation_coverage", "pack/tools.json"),
    ]
    assert all("close_kiln" in one.message for one in done.lacking)
    assert [one.code for one in done.warnings] == ["tool_not_exercised"]
    assert b"close_kiln" in (pack / "tools.json").read_bytes()


def test_open_work_of_a_tool_that_is_not_new_is_an_error(pack: Path) -> None:
    reasons = refusal(pack, "validation_cases", yaml.safe_dump(CASES[1:3] + CASES[4:]).encode())
    assert {one.split(": ")[1] for one in reasons[1:]} == {"incomplete_validation_coverage"}


def test_budget_that_a_template_needs_is_told_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pack = write_pack(tmp_path / "pack")
    mapping = config_mapping(pack, task_generation__tasks_per_category=2)
    (pack / "validate.yaml").write_text(yaml.safe_dump(mapping))
    line = (pack / "validate.yaml").read_text().split("\n").index("  tasks_per_category: 2") + 1
    templates = yaml.safe_load((pack / "task_templates.yaml").read_text())
    again = [{"template_id": f"more_{number}", **TEMPLATES["kiln_status"]} for number in range(2)]
    done = grown(pack, "templates", yaml.safe_dump([*templates, *again]).encode())
    assert [str(one) for one in done.lacking] == [
        f"pack/validate.yaml:{line}: category_budget_too_small: task_generation.tasks_per_category: category "
        "`kilns` has 4 templates, but its budget is 2 tasks\n"
        "  fix: set `task_generation.tasks_per_category` to at least 4"
    ]
    assert grown(pack, "templates", yaml.safe_dump([*templates[:1], *templates[2:]]).encode()).lacking == ()


def test_file_that_changed_meanwhile_is_left_alone(pack: Path) -> None:
    path = pack / "validation_cases.yaml"
    data = with_case(pack, id="again", **FOUND)

    def edited(seen: bytes, _shown: str) -> bytes:
        path.write_bytes(seen + b"# edited\n")
        return data

    with pytest.raises(PackError) as caught:
        added(pack, "validation_cases", edited)
    assert str(caught.value) == (
        "pack/validation_cases.yaml: append_impossible: nothing was added: another program changed the file meanwhile\n"
        "  fix: run the same command again"
    )
    assert path.read_bytes().endswith(b"# edited\n")


def test_file_keeps_its_mode(pack: Path) -> None:
    path = pack / "validation_cases.yaml"
    path.chmod(0o600)
    grown(pack, "validation_cases", with_case(pack, id="again", **FOUND))
    assert path.stat().st_mode & 0o7777 == 0o600


def test_unused_assertion_is_told_as_a_warning(pack: Path) -> None:
    made = new_assertion(load_own(pack).pack, "assert_new", None)
    data = appended_assertion((pack / "assertions.py").read_bytes(), made, "assertions.py")
    done = grown(pack, "assertions", data)
    assert [(one.code, one.path) for one in done.warnings] == [("unused_assertion", "pack/assertions.py")]


def test_file_outside_the_pack_is_judged_and_written_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pack = write_pack(tmp_path / "pack", put("manifest.yaml", ["paths"], {"tools": "../shared/tools.json"}))
    shared = tmp_path / "shared" / "tools.json"
    shared.parent.mkdir()
    (pack / "tools.json").rename(shared)
    mapping = config_mapping(pack, oracle_runtime__allowed_roots=[str(pack), str(shared.parent)])
    (pack / "validate.yaml").write_text(yaml.safe_dump(mapping))
    tool = {"type": "function", "function": {**TOOLS[0]["function"], "name": "close_kiln"}}
    done = grown(pack, "tools", json.dumps([*TOOLS, tool]).encode())
    assert done.path == shared
    assert b"close_kiln" in shared.read_bytes()
    assert refusal(pack, "tools", b"{}")[0] == f"shared/tools.json: {NOTHING}"


@pytest.mark.parametrize("content", ["", "# none yet\n", "[]\n", "[ ]  # none yet\n"])
def test_first_case_of_a_pack_without_any_is_written_and_what_is_still_missing_told(pack: Path, content: str) -> None:
    (pack / "validation_cases.yaml").write_text(content)
    case = {"id": "found", **FOUND}
    found = added(pack, "validation_cases", lambda data, shown_: appended_yaml(data, [case], shown_))
    assert yaml.safe_load((pack / "validation_cases.yaml").read_bytes()) == [case]
    assert {problem.code for problem in found.lacking} == {"incomplete_validation_coverage"}
    assert len(found.lacking) == 5
