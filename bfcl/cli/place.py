"""Which project and which run does a command mean?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bfcl.config.load import load_config
from bfcl.errors import ConfigError, Problem
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.pack.layout import shown

DEFAULT_CONFIG: Final = Path("configs", "tiny.yaml")
DODO: Final = "dodo.py"

_GENERATE = "run `doit generate` first, or name a run with `--run`"


def project_root(start: Path) -> Path:
    """The nearest directory from `start` upwards that holds a `dodo.py`; `start` itself where none does."""
    return next((path for path in (start, *start.parents) if (path / DODO).is_file()), start)


def run_of_config(config: Path, project: Path) -> RunTree:
    """The run tree a configuration writes to. Raises ConfigError with every problem of the configuration."""
    # As `prepare`, so that a setting which only generation refuses does not hide a run that is there.
    return RunTree(load_config(config, project=project, command="prepare").config.run_dir)


def default_run(project: Path) -> RunTree:
    """The run of `configs/tiny.yaml` where it is built, else the only run below `build/runs/`.

    Raises: ConfigError `run_not_found` where there is none, `run_ambiguous` naming them where there are several.
    """
    config = project / DEFAULT_CONFIG
    if config.is_file():
        run = run_of_config(config, project)
        if is_built(run):
            return run
    found = built_runs(project)
    if len(found) == 1:
        return found[0]
    if found:
        names = [shown(run.root) for run in found]
        message = f"{len(found)} runs are there: {', '.join(names)}; expected one, or the run of {DEFAULT_CONFIG}"
        raise ConfigError(Problem(code="run_ambiguous", message=message, fix=f"choose one, such as `--run {names[0]}`"))
    message = f"neither {DEFAULT_CONFIG} nor build/runs/ leads to a run with stage tables"
    raise ConfigError(Problem(code="run_not_found", subject=shown(project), message=message, fix=_GENERATE))


def named_run(directory: Path) -> RunTree:
    """The run at `directory`. Raises ConfigError `run_not_found` where it holds no stage tables."""
    run = RunTree(directory)
    if not is_built(run):
        message = "holds no stage_cache/task_instances.parquet"
        raise ConfigError(Problem(code="run_not_found", subject=shown(directory), message=message, fix=_GENERATE))
    return run


def is_built(run: RunTree) -> bool:
    """Whether expansion left its table there."""
    return (run.stage_cache / "task_instances.parquet").is_file()


def built_runs(project: Path) -> list[RunTree]:
    """Runs below `build/runs/` that hold stage tables, by name."""
    runs = BuildTree(project).root / "runs"
    if not runs.is_dir():
        return []
    return [run for run in map(RunTree, sorted(runs.iterdir())) if is_built(run)]
