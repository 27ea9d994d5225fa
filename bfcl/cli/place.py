"""Which project and which run does a command mean?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bfcl.config.load import load_config
from bfcl.errors import ConfigError, Problem
from bfcl.graph.known_runs import known_runs
from bfcl.graph.layout import RunTree
from bfcl.pack.layout import shown
from bfcl.stages import stage_named

DODO: Final = "dodo.py"

(_EXPANDED,) = stage_named("expand").writes

_GENERATE = "run `doit generate` first, or name a run with `--run`"


def project_root(start: Path) -> Path:
    """The nearest directory from `start` upwards that holds a `dodo.py`; `start` itself where none does."""
    return next((path for path in (start, *start.parents) if (path / DODO).is_file()), start)


def run_of_config(config: Path, project: Path) -> RunTree:
    """The run tree a configuration writes to. Raises ConfigError with every problem of the configuration."""
    # As `prepare`, so that a setting which only generation refuses does not hide a run that is there.
    return RunTree(load_config(config, project=project, command="prepare").config.run_dir)


def searched_runs(project: Path) -> list[RunTree]:
    """Every run of the project that is built, in the order of `known_runs`.

    Raises: ConfigError `run_not_found` where there is none.
    """
    found = [run for run in known_runs(project).runs if is_built(run)]
    if not found:
        message = "neither configs/*.yaml nor build/runs/ leads to a run with stage tables"
        raise ConfigError(Problem(code="run_not_found", subject=shown(project), message=message, fix=_GENERATE))
    return found


def named_run(directory: Path) -> RunTree:
    """The run at `directory`. Raises ConfigError `run_not_found` where it holds no stage tables."""
    run = RunTree(directory)
    if not is_built(run):
        message = f"holds no stage_cache/{_EXPANDED}"
        raise ConfigError(Problem(code="run_not_found", subject=shown(directory), message=message, fix=_GENERATE))
    return run


def is_built(run: RunTree) -> bool:
    """Whether expansion left its table there."""
    return (run.stage_cache / _EXPANDED).is_file()
