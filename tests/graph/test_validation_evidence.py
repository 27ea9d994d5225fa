"""What earlier validations found: kept by content, verified line by line, bounded, and never needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.graph import validation_evidence
from bfcl.graph.validation_evidence import ValidationEvidence
from bfcl.graph.validation_parts import Parts
from bfcl.pack.load import load_pack
from tests.packs import Edit, append, put, run_config, text, write_pack

CASES = frozenset({"validation_cases", "view"})
TOOLS = frozenset({"tools"})


def parts(root: Path, *edits: Edit) -> Parts:
    settings = run_config(write_pack(root, *edits))
    return Parts(load_pack(settings, project=root.parent), settings)


@pytest.fixture
def good(tmp_path: Path) -> Parts:
    return parts(tmp_path / "pack")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "evidence"


def opened(path: Path, of: Parts, *, fresh: bool = False) -> ValidationEvidence:
    return ValidationEvidence(path, of, fresh=fresh)


def written(path: Path, of: Parts, **values: object) -> None:
    evidence = opened(path, of)
    for name, value in values.items():
        evidence.keep(name, TOOLS, value)  # type: ignore[arg-type]
    evidence.save(saw_pages=True)


def test_kept_value_is_found_by_a_later_validation(path: Path, good: Parts) -> None:
    evidence = opened(path, good)
    assert evidence.find("5", CASES) is None
    value = {"status": "fail", "messages": ["lò nung é", None, 1, 1.5, True]}
    evidence.keep("5", CASES, value)
    evidence.save(saw_pages=True)
    later = opened(path, good)
    assert later.find("5", CASES) == value
    assert later.find("6", CASES) is None
    assert later.find("5", TOOLS) is None
    assert evidence.asked == {"5": False}
    assert later.asked["6"] is False


def test_edited_content_finds_nothing_and_going_back_finds_it_again(tmp_path: Path, path: Path, good: Parts) -> None:
    written(path, good, one=[1])
    edited = parts(tmp_path / "edited", put("tools.json", (0, "function", "description"), "Another."))
    assert opened(path, edited).find("one", TOOLS) is None
    written(path, edited, one=[2])
    assert opened(path, good).find("one", TOOLS) == [1]
    assert opened(path, edited).find("one", TOOLS) == [2]


def test_edit_to_a_page_finds_what_was_found_without_looking_at_one(tmp_path: Path, path: Path, good: Parts) -> None:
    page = append("README.md", "more\n")
    edited, coded = parts(tmp_path / "edited", page), parts(tmp_path / "coded", page, append("backend.py", "# more\n"))
    for saw_pages, name in ((False, "unseen"), (True, "seen")):
        evidence = opened(path, good)
        evidence.keep(name, CASES, [1])
        evidence.save(saw_pages=saw_pages)
    found = {of: [opened(path, of).find(name, CASES) for name in ("unseen", "seen")] for of in (good, edited, coded)}
    assert found == {good: [[1], [1]], edited: [[1], None], coded: [None, None]}


def test_page_that_comes_or_goes_counts_though_nobody_looks_at_it(tmp_path: Path, path: Path, good: Parts) -> None:
    evidence = opened(path, good)
    evidence.keep("one", CASES, [1])
    evidence.save(saw_pages=False)
    assert opened(path, parts(tmp_path / "edited", text("README.txt", "x\n"))).find("one", CASES) is None


def test_content_that_was_not_read_does_not_matter(tmp_path: Path, path: Path, good: Parts) -> None:
    written(path, good, one=[1])
    assert opened(path, parts(tmp_path / "edited", append("backend.py", "# more\n"))).find("one", TOOLS) == [1]


@pytest.mark.parametrize("what", ["code_digest", "python_minor", "shut_in"])
def test_other_program_or_machine_finds_nothing(
    path: Path, good: Parts, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    written(path, good, one=[1])
    monkeypatch.setattr(validation_evidence, what, lambda *_: "other")
    assert opened(path, good).find("one", TOOLS) is None


def test_fresh_finds_nothing_earlier_and_replaces_it(path: Path, good: Parts) -> None:
    written(path, good, one=[1], two=[2])
    fresh = opened(path, good, fresh=True)
    assert fresh.find("one", TOOLS) is None
    fresh.keep("one", TOOLS, [3])
    assert fresh.find("one", TOOLS) == [3]
    fresh.save(saw_pages=True)
    assert opened(path, good).find("one", TOOLS) == [3]
    assert opened(path, good).find("two", TOOLS) == [2]


@pytest.mark.parametrize("position", [0, 70, 131])
def test_line_with_one_byte_changed_is_not_there(path: Path, good: Parts, position: int) -> None:
    written(path, good, one=[1], two=[2])
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    evidence = opened(path, good)
    assert evidence.find("one", TOOLS) is None
    assert evidence.find("two", TOOLS) == [2]


def test_file_cut_short_loses_its_last_line_alone(path: Path, good: Parts) -> None:
    written(path, good, one=[1], two=[2])
    path.write_bytes(path.read_bytes()[:-2])
    evidence = opened(path, good)
    assert evidence.find("one", TOOLS) == [1]
    assert evidence.find("two", TOOLS) is None


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff\xfe\x00 rubbish\n", b"[" * 100_000])
def test_rubbish_is_no_evidence_and_no_error(path: Path, good: Parts, data: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(data)
    evidence = opened(path, good)
    assert evidence.find("one", TOOLS) is None
    evidence.keep("one", TOOLS, [1])
    evidence.save(saw_pages=True)
    assert opened(path, good).find("one", TOOLS) == [1]


def test_directory_in_its_place_is_no_error(path: Path, good: Parts) -> None:
    path.mkdir(parents=True)
    written(path, good, one=[1])
    assert path.is_dir()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_nothing_new_writes_nothing(path: Path, good: Parts) -> None:
    written(path, good, one=[1])
    path.chmod(0o444)
    before = path.stat()
    evidence = opened(path, good)
    evidence.find("one", TOOLS)
    evidence.save(saw_pages=True)
    assert path.stat() == before


def test_two_validations_at_once_both_find_later_what_the_last_one_could_see(path: Path, good: Parts) -> None:
    first, second = opened(path, good), opened(path, good)
    first.keep("one", TOOLS, [1])
    second.keep("two", TOOLS, [2])
    first.save(saw_pages=True)
    second.save(saw_pages=True)
    later = opened(path, good)
    assert later.find("one", TOOLS) == [1]
    assert later.find("two", TOOLS) == [2]


def test_oldest_unused_lines_go_first(path: Path, good: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation_evidence, "KEPT_LINES", 2)
    written(path, good, one=[1], two=[2], three=[3])
    evidence = opened(path, good)
    assert evidence.find("one", TOOLS) == [1]
    evidence.keep("four", TOOLS, [4])
    evidence.save(saw_pages=True)
    written(path, good, five=[5])
    later = opened(path, good)
    assert {name: later.find(name, TOOLS) for name in ("one", "two", "three", "four", "five")} == {
        "one": [1],
        "two": None,
        "three": None,
        "four": [4],
        "five": [5],
    }


def test_unused_lines_are_bounded_in_bytes(path: Path, good: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    written(path, good, one=["x" * 500], two=["y" * 100])
    monkeypatch.setattr(validation_evidence, "KEPT_BYTES", 400)
    written(path, good, three=["z" * 1000])
    later = opened(path, good)
    assert later.find("one", TOOLS) is None
    assert later.find("two", TOOLS) == ["y" * 100]
    assert later.find("three", TOOLS) == ["z" * 1000]
