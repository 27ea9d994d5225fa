"""Is this file a run configuration, and what does it say? Every problem at once. Rules: generation.md §2.1-2.3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bfcl.config.features import GENERATING, feature_problems
from bfcl.config.loaded import LoadedConfig
from bfcl.config.model import Stage
from bfcl.config.paths import shown_path
from bfcl.config.rules import rule_problems
from bfcl.config.shape import shape_problems
from bfcl.config.typed import typed
from bfcl.config.view import INVALID, View
from bfcl.errors import BfclError, ConfigError, Problem, raise_all
from bfcl.located import Document, parse_yaml

__all__ = ["LoadedConfig", "load_config", "read_config"]


def read_config(path: Path, *, project: Path | None = None) -> Document:
    """Parse the file, whose value is then a mapping; nothing else is checked.

    Messages name the file from `project` where it lies inside. Raises: ConfigError, `generation_config_invalid`.
    """
    return _parse(_read(path, project), path, project)


def load_config(path: Path, *, project: Path, command: Stage) -> LoadedConfig:
    """Read, check and type the configuration at `path` for `command`.

    Raises: ConfigError with every problem of shape, of cross-field rules and, for commands that generate, of
    unsupported features; in file order.
    """
    path, project = path.absolute(), project.absolute()
    data = _read(path, project)
    document = _parse(data, path, project)
    raw = document.value
    assert isinstance(raw, Mapping)
    view = View(document=document, raw=raw, data=data, base=path.parent, project=project)
    problems = [*shape_problems(view), *rule_problems(view)]
    if command in GENERATING:
        problems += feature_problems(view)
    raise_all(ConfigError, sorted(problems, key=lambda problem: _order(problem, document.path)))
    config = typed(raw, base=view.base, project=project)
    return LoadedConfig(config=config, document=document, raw=raw, path=path, project=project)


def _order(problem: Problem, own: str) -> tuple[bool, str, int, int]:
    return problem.path != own, problem.path or "", problem.line or 0, problem.column or 0


def _read(path: Path, project: Path | None) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}; expected a run configuration"
        fix = "name one with `config=PATH`"
        shown = shown_path(path, project)
        raise ConfigError(Problem(code=INVALID, path=shown, message=message, fix=fix)) from None


def _parse(data: bytes, path: Path, project: Path | None) -> Document:
    shown = shown_path(path, project)
    try:
        document = parse_yaml(data, path=shown, code=INVALID)
    except BfclError as error:
        raise ConfigError(error.problems) from None
    if not isinstance(document.value, Mapping):
        said = "is empty" if document.value is None else "does not hold a mapping"
        message = f"the file {said}; expected a mapping of settings"
        raise ConfigError(Problem(code=INVALID, path=shown, line=1, message=message))
    return document
