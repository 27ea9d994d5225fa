"""What does a JSON file of an output directory say? Rule: evaluation.md §11."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bfcl.canonical import Json
from bfcl.errors import BfclError, EvalError, Problem
from bfcl.evaluate.artifacts.names import ARTIFACT_INVALID
from bfcl.located import parse_json
from bfcl.pack.layout import shown


def read_document(path: Path) -> Mapping[str, Json] | None:
    """The object of a file, None where there is no such file.

    Raises: EvalError `eval_artifact_invalid` for what is no readable regular file with one JSON object.
    """
    try:
        if path.is_symlink():
            raise EvalError(unusable(path, "is a symbolic link; expected the file itself"))
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EvalError(unusable(path, f"cannot be read: {error.strerror}")) from None
    try:
        value = parse_json(data, path=str(path), code=ARTIFACT_INVALID).value
    except BfclError as error:
        told = "; ".join(problem.message for problem in error.problems)
        raise EvalError(unusable(path, f"is no JSON document: {told}")) from None
    if not isinstance(value, Mapping):
        raise EvalError(unusable(path, "holds no JSON object"))
    return value


def unusable(path: Path, message: str) -> Problem:
    """What is wrong with a file of an output directory."""
    fix = "restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
    return Problem(code=ARTIFACT_INVALID, path=shown(path), message=message, fix=fix)
