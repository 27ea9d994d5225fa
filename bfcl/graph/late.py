"""What doit tasks do, named rather than imported: `doit list` and a build with nothing to do never load the pipeline.

So are finder, solver, what writes exports and what talks to a cluster: a build loads them where it asks for them.

One table, so that a reader and a test see every name; `late` imports a target when it is first called.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any, Final

TARGETS: Final = {
    "check_configuration": "bfcl.graph.session:check_configuration",
    "check_target": "bfcl.graph.resume:check_target",
    "check_recorded": "bfcl.graph.model_finder:check_recorded",
    "open_session": "bfcl.graph.session:open_session",
    "validate": "bfcl.graph.validation:validate",
    "prepare": "bfcl.graph.resume:prepare_or_resume",
    "gold_gate": "bfcl.graph.prepare:gold_gate",
    "stage": "bfcl.graph.run_stage:run_stage",
    "reference_profile": "bfcl.graph.unsharded:run_reference_profile",
    "sharded": "bfcl.graph.runner:run_sharded",
    "check_cluster": "bfcl.graph.dask_executor:check_cluster",
    "dask_executor": "bfcl.graph.dask_executor:DaskExecutor",
    "surface_quality": "bfcl.graph.quality:run_surface_quality",
    "finder": "bfcl.graph.model_finder:configured_finder",
    "solver": "bfcl.stages.balancing.solver:solver",
    "dedup_balancing": "bfcl.graph.balancing:run_dedup_balancing",
    "final_output": "bfcl.graph.final_rows:run_final_output",
    "publish": "bfcl.graph.publication:run_publish",
    "exported": "bfcl.graph.exported:exported",
    "funnel_lines": "bfcl.graph.funnel:funnel_lines",
    "eval_files": "bfcl.graph.evaluation:eval_files",
    "eval_is_current": "bfcl.graph.evaluation:eval_is_current",
    "eval": "bfcl.graph.evaluation:run_eval",
    "eval_current_lines": "bfcl.graph.evaluation:eval_current_lines",
    "clean_pointed": "bfcl.graph.clean:clean_pointed",
    "clean_validations": "bfcl.graph.validation:clean_validations",
    "clean_publication": "bfcl.graph.clean:clean_publication",
}


def late(name: str) -> Callable[..., Any]:
    """The function a name of `TARGETS` stands for."""
    target: Callable[..., Any] = pkgutil.resolve_name(TARGETS[name])
    return target
