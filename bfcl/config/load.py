"""Is this file a run configuration, and what does it say? Every problem at once. Rules: generation.md §2.1-2.3."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from bfcl.config.features import feature_problems
from bfcl.config.loaded import LoadedConfig
from bfcl.config.paths import shown_path
from bfcl.config.reading import parse_config, read_bytes
from bfcl.config.rules import rule_problems
from bfcl.config.shape import shape_problems
from bfcl.config.typed import typed
from bfcl.config.view import View
from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.records.ids import GENERATING, RunStage

__all__ = ["LoadedConfig", "load_config", "load_config_from_here"]


def load_config(path: Path, *, project: Path, command: RunStage, data: bytes | None = None) -> LoadedConfig:
    """Read, check and type the configuration at `path` for `command`; `data` are its bytes if they are read already.

    Raises: ConfigError with every problem of shape, of cross-field rules and, for commands that generate, of
    unsupported features; in file order.
    """
    path, project = path.absolute(), project.absolute()
    data = read_bytes(path, project) if data is None else data
    document = parse_config(data, path, project)
    raw = document.value
    assert isinstance(raw, Mapping)
    view = View(document=document, raw=raw, data=data, base=path.parent, project=project)
    problems = [*shape_problems(view), *rule_problems(view)]
    if command in GENERATING:
        problems += feature_problems(view)
    raise_all(ConfigError, sorted(problems, key=lambda problem: _order(problem, document.path)))
    config = typed(raw, base=view.base, project=project)
    return LoadedConfig(config=config, document=document, raw=raw, path=path, project=project)


def load_config_from_here(path: Path, *, project: Path, command: RunStage, data: bytes | None = None) -> LoadedConfig:
    """`load_config` for whoever may stand outside the project: files are named from the current directory."""
    try:
        loaded = load_config(path, project=project, command=command, data=data)
    except ConfigError as error:
        raise ConfigError([_from_here(problem, project) for problem in error.problems]) from None
    document = dataclasses.replace(loaded.document, path=shown_path(loaded.path, Path.cwd()))
    return dataclasses.replace(loaded, document=document)


def _from_here(problem: Problem, project: Path) -> Problem:
    if problem.path is None:
        return problem
    return dataclasses.replace(problem, path=shown_path(project.absolute() / problem.path, Path.cwd()))


def _order(problem: Problem, own: str) -> tuple[bool, str, int, int]:
    return problem.path != own, problem.path or "", problem.line or 0, problem.column or 0
