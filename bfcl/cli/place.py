"""Which project and which run does a command mean?"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from bfcl.config.load import load_config
from bfcl.errors import ConfigError, Problem
from bfcl.graph.known_runs import SOUGHT, known_runs
from bfcl.graph.layout import RunTree
from bfcl.pack.layout import shown
from bfcl.stages import stage_named

DODO: Final = "dodo.py"

(_EXPANDED,) = stage_named("expand").writes

_BY_PATH: Final = "run `doit generate` first, or give the path of a run directory"
_GENERATE = "run `doit generate` first, or name a run with `--run`"


def project_root(start: Path) -> Path:
    """The nearest directory from `start` upwards that holds a `dodo.py`; `start` itself where none does."""
    return next((path for path in (start, *start.parents) if (path / DODO).is_file()), start)


def run_of_config(config: Path, project: Path) -> RunTree:
    """The run tree a configuration writes to. Raises ConfigError with every problem of the configuration."""
    # As `prepare`, so that a setting which only generation refuses does not hide a run that is there.
    return RunTree(load_config(config, project=project, command="prepare").config.run_dir)


def meant_run(given: Path, project: Path) -> Path:
    """The directory `given`, or where there is none and it is a bare word, the run of the project that has this name
    or this run id.

    Raises: ConfigError `run_not_found` saying which runs were looked at, `run_ambiguous`.
    """
    if os.path.lexists(given) or given != Path(given.name):
        return given
    runs = [run for run in known_runs(project).runs if is_built(run) or run.manifest.is_file()]
    meant = [run.root for run in runs if str(given) in (run.root.name, _run_id(run))]
    if len(meant) == 1:
        return meant[0]
    if meant:
        names = [shown(root) for root in meant]
        message = f"{len(names)} runs have this name: {', '.join(names)}; expected one"
        fix = f"give the path of one, such as {names[0]}"
        raise ConfigError(Problem(code="run_ambiguous", subject=shown(given), message=message, fix=fix))
    there = ", ".join(shown(run.root) for run in runs) or "none"
    message = f"no such directory, and no run of this project has this name or run id; looked for in {SOUGHT}: {there}"
    raise ConfigError(Problem(code="run_not_found", subject=shown(given), message=message, fix=_BY_PATH))


def _run_id(run: RunTree) -> str | None:
    """As the manifest says it; whether the rest of it holds is for whoever reads the run."""
    try:
        run_id = json.loads(run.manifest.read_bytes())["run_id"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return run_id if isinstance(run_id, str) else None


def searched_runs(project: Path) -> list[RunTree]:
    """Every run of the project that is built, in the order of `known_runs`.

    Raises: ConfigError `run_not_found` where there is none.
    """
    found = [run for run in known_runs(project).runs if is_built(run)]
    if not found:
        message = f"no run with stage tables was found in {SOUGHT}"
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
