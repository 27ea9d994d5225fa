from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.evaluate.artifacts.reading import read_document
from tests.evaluate.refusals import refused


def test_absent_document_is_none(tmp_path: Path) -> None:
    assert read_document(tmp_path / "x.json") is None


def test_document_is_its_object(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    assert read_document(tmp_path / "x.json") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "told"), [("[]", "holds no JSON object"), ("{", "is no JSON document: "), ("", "is no JSON document: ")]
)
def test_what_is_no_object_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    (problem,) = refused(lambda: read_document(path))
    assert (problem.code, problem.path) == ("eval_artifact_invalid", str(path))
    assert problem.message.startswith(told)


def test_link_and_directory_are_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    (problem,) = refused(lambda: read_document(link))
    assert problem.message == "is a symbolic link; expected the file itself"
    (problem,) = refused(lambda: read_document(tmp_path))
    assert problem.message == "cannot be read: Is a directory"
