"""The doit tasks: one a stage, in pipeline order, plus the guards around them. Rule: generation.md §1, §9.3-9.5.

Task creation runs on every doit command, `doit list` included: it reads the configuration and lists the pack's files,
never their content, and never refuses; what is wrong is told by the `config` task, which every other task depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import doit
from doit import doit_cmd

from bfcl.config.kinds import of_evaluation
from bfcl.errors import BfclError, Problem, StageError
from bfcl.graph.begin import begin
from bfcl.graph.checker import Blake3Checker
from bfcl.graph.eval_files import EvalFiles
from bfcl.graph.invocation import invocation
from bfcl.graph.late import late
from bfcl.graph.memory import ForgivingCodec, database
from bfcl.graph.opening import Opening
from bfcl.graph.refusal import refusing
from bfcl.graph.reporter import EVAL, Reporter
from bfcl.stages import Stage

DOIT_CONFIG = {
    "default_tasks": ["generate"],
    # `doit list` then reads like the pipeline.
    "sort": "definition",
    "dep_file": database(),
    "backend": "json",
    "codec_cls": ForgivingCodec,
    "check_file_uptodate": Blake3Checker,
    "par_type": "thread",
    "reporter": Reporter,
    "verbosity": 2,
}

TaskDict = dict[str, Any]


def task_pipeline() -> Iterator[TaskDict]:
    """Every task, in the order in which they run."""
    directory = Path(doit.get_initial_workdir() or Path.cwd())
    # doit offers single variables by name only; all of them are needed to refuse the unknown ones.
    given = dict(doit_cmd._CMDLINE_VARS or {})
    yield from pipeline(Opening(invocation(Path.cwd(), directory, given)))


def pipeline(opening: Opening) -> Iterator[TaskDict]:
    """The task dictionaries of one invocation; nothing is read here but what it already holds."""
    yield _config(opening)
    yield _validate(opening)
    yield _prepare(opening)
    yield _gold_gate(opening)
    # Each after the one before: checkpoints form a chain in this order, and a killed run should have left a long one.
    before = "gold_gate"
    for stage in opening.invocation.stages:
        yield _stage(opening, stage, before)
        before = stage.name
    yield _publish(opening)
    yield {
        "basename": "generate",
        "doc": "build and publish the benchmark",
        "actions": None,
        "task_dep": ["publish"],
    }
    yield {
        "basename": "all",
        "doc": "prepare, then generate",
        "actions": None,
        "task_dep": ["prepare", "generate"],
    }
    yield _eval(opening)


def _config(opening: Opening) -> TaskDict:
    return {
        "basename": "config",
        "doc": "check command line and configuration (always runs)",
        "actions": [refusing(partial(begin, opening), opening.invocation.given)],
        "uptodate": [False],
        "meta": {"opening": opening},
    }


def _validate(opening: Opening) -> TaskDict:
    def act() -> bool:
        if opening.variables is None:
            raise StageError(_alone("validate"))
        gold: bool = late("validate")(opening)
        return gold

    return {
        "basename": "validate",
        "doc": "run every check on the pack and say what is wrong; publishes nothing (always runs)",
        "actions": [refusing(act, opening.invocation.given)],
        "task_dep": ["config"],
        "uptodate": [False],
        "clean": [_clean(opening, "clean_validations")],
    }


def _prepare(opening: Opening) -> TaskDict:
    pointer = _pointer(opening, "prepare")
    return {
        "basename": "prepare",
        "doc": "normalise and validate the pack, write the report",
        "actions": [_action(opening, "prepare", "prepare")],
        "file_dep": [*_config_files(opening), *map(str, opening.invocation.pack_files().values())],
        "targets": [pointer],
        "task_dep": ["config"],
        "uptodate": [partial(_is_noop, opening)],
        "clean": [_clean(opening, "clean_pointed", ("prepare", "oracle_view"))],
    }


def _gold_gate(opening: Opening) -> TaskDict:
    return {
        "basename": "gold_gate",
        "doc": "let only a pack pass that is Gold in this very invocation",
        "actions": [_action(opening, "gold_gate", "gold_gate")],
        "task_dep": ["prepare"],
        "uptodate": [partial(_is_noop, opening)],
    }


def _stage(opening: Opening, stage: Stage, before: str) -> TaskDict:
    return {
        "basename": stage.name,
        "doc": stage.summary,
        "actions": [_action(opening, stage.name, "stage", stage)],
        "file_dep": [*_config_files(opening), *(_pointer(opening, name) for name in ("prepare", *stage.reads))],
        "targets": [_pointer(opening, stage.name)],
        "task_dep": [before],
        "uptodate": [partial(_is_noop, opening)],
        "clean": [_clean(opening, "clean_pointed", (stage.name,))],
    }


def _publish(opening: Opening) -> TaskDict:
    run = opening.invocation.run
    return {
        "basename": "publish",
        "doc": "verify and commit the release, manifest last",
        "actions": [_action(opening, "publish", "publish")],
        "file_dep": [_pointer(opening, stage.name) for stage in opening.invocation.stages],
        "targets": [str(run.manifest)] if run is not None else [],
        "task_dep": ["gold_gate"],
        "uptodate": [partial(_is_noop, opening)],
        "clean": [_clean(opening, "clean_publication")],
    }


def _eval(opening: Opening) -> TaskDict:
    files = _eval_files(opening)

    def act() -> None:
        late("eval")(opening)

    def is_current() -> bool:
        current: bool = late("eval_is_current")(files.targets)
        return current

    return {
        "basename": EVAL,
        "doc": "measure candidate models on a published benchmark; `config=` names an envelope",
        "actions": [refusing(act, opening.invocation.given)],
        "file_dep": files.inputs,
        "targets": files.targets,
        "uptodate": [is_current],
    }


def _eval_files(opening: Opening) -> EvalFiles:
    """Nothing is looked up where the configuration is that of a build."""
    if not of_evaluation(opening.invocation.raw):
        return EvalFiles([], [])
    found: EvalFiles = late("eval_files")(opening.invocation.config_path)
    return found


def _action(opening: Opening, task: str, target: str, *arguments: object) -> Callable[[], Any]:
    """A doit action that keeps evidence, and does nothing where the publication in place already answers."""

    def act() -> None:
        if opening.noop:
            return
        if opening.session is None:
            raise StageError(_alone(task))
        opening.evidence.start(task)
        try:
            late(target)(opening.session, *arguments)
        except BfclError:
            opening.evidence.add(task, None, None, "refused")
            raise
        finally:
            opening.evidence.write(task)

    return refusing(act, opening.invocation.given)


def _alone(task: str) -> Problem:
    return Problem(
        code="task_run_alone",
        subject=task,
        message="the `config` task did not run before it, so nothing is known of this run",
        fix="run without `-s`",
    )


def _clean(opening: Opening, target: str, *arguments: object) -> Callable[[bool], None]:
    def remove_results(dryrun: bool) -> None:
        late(target)(opening, *arguments, dryrun)

    return remove_results


def _is_noop(opening: Opening) -> bool:
    return opening.noop


def _pointer(opening: Opening, stage: str) -> str:
    return str(opening.invocation.tree.pointer(opening.invocation.ck, stage))


def _config_files(opening: Opening) -> list[str]:
    # A missing file_dep is doit's own error; an absent configuration is told by the `config` task instead.
    path = opening.invocation.config_path
    return [str(path)] if path.is_file() else []
