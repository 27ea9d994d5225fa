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

from bfcl.errors import BfclError
from bfcl.graph.begin import begin
from bfcl.graph.checker import Blake3Checker
from bfcl.graph.clean import clean_pointed, clean_publication
from bfcl.graph.invocation import invocation
from bfcl.graph.prepare import gate, prepare
from bfcl.graph.publication import run_publish
from bfcl.graph.refusal import refusing
from bfcl.graph.reporter import Reporter
from bfcl.graph.runner import run_sharded
from bfcl.graph.session import Session
from bfcl.graph.standing import stage_stands
from bfcl.graph.unsharded import run_final_output, run_reference_profile
from bfcl.stages import STAGES, Stage

DOIT_CONFIG = {
    "default_tasks": ["generate"],
    # `doit list` then reads like the pipeline.
    "sort": "definition",
    "dep_file": "build/.doit.db",
    "backend": "json",
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
    yield from pipeline(Session(invocation(Path.cwd(), directory, given)))


def pipeline(session: Session) -> Iterator[TaskDict]:
    """The task dictionaries of one session; nothing is read here but what the session already holds."""
    yield _config(session)
    yield _prepare(session)
    yield _gold_gate(session)
    for stage in STAGES:
        yield _stage(session, stage)
    yield _publish(session)
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


def _config(session: Session) -> TaskDict:
    return {
        "basename": "config",
        "doc": "check command line and configuration (always runs)",
        "actions": [refusing(partial(begin, session))],
        "uptodate": [False],
        "meta": {"session": session},
    }


def _prepare(session: Session) -> TaskDict:
    pointer = _pointer(session, "prepare")
    return {
        "basename": "prepare",
        "doc": "normalise and validate the pack, write the report",
        "actions": [_action(session, "prepare", partial(prepare, session))],
        "file_dep": [*_config_files(session), *map(str, session.invocation.pack_files().values())],
        "targets": [pointer],
        "task_dep": ["config"],
        "uptodate": [partial(_is_noop, session)],
        "clean": [partial(clean_pointed, session, ("prepare", "oracle_view"))],
    }


def _gold_gate(session: Session) -> TaskDict:
    return {
        "basename": "gold_gate",
        "doc": "let only a pack pass that is Gold in this very invocation",
        "actions": [_action(session, "gold_gate", partial(gate, session))],
        "task_dep": ["prepare"],
        "uptodate": [partial(_is_noop, session)],
    }


def _stage(session: Session, stage: Stage) -> TaskDict:
    run: Callable[[Session, Stage], None] = run_sharded
    if stage.name == "reference_profile":
        run = run_reference_profile
    elif stage.name == "final_output":
        run = run_final_output
    return {
        "basename": stage.name,
        "doc": stage.summary,
        "actions": [_action(session, stage.name, partial(run, session, stage))],
        "file_dep": [*_config_files(session), *(_pointer(session, name) for name in ("prepare", *stage.reads))],
        "targets": [_pointer(session, stage.name)],
        "task_dep": ["gold_gate"],
        "uptodate": [partial(stage_stands, session, stage)],
        "clean": [partial(clean_pointed, session, (stage.name,))],
    }


def _publish(session: Session) -> TaskDict:
    return {
        "basename": "publish",
        "doc": "verify and commit the release, manifest last",
        "actions": [_action(session, "publish", partial(run_publish, session))],
        "file_dep": [_pointer(session, stage.name) for stage in STAGES],
        "targets": [_pointer(session, "publish")],
        "task_dep": ["gold_gate"],
        "uptodate": [partial(_is_noop, session)],
        "clean": [partial(clean_publication, session)],
    }


def _action(session: Session, task: str, run: Callable[[], None]) -> Callable[[], Any]:
    """A doit action that keeps evidence, and does nothing where the publication in place already answers."""

    def act() -> None:
        if session.noop:
            return
        session.evidence.start(task)
        try:
            run()
        except BfclError:
            session.evidence.add(task, None, None, "refused")
            raise
        finally:
            session.evidence.write(task)

    return refusing(act)


def _is_noop(session: Session) -> bool:
    return session.noop


def _pointer(session: Session, stage: str) -> str:
    return str(session.tree.pointer(session.invocation.ck, stage))


def _config_files(session: Session) -> list[str]:
    # A missing file_dep is doit's own error; an absent configuration is told by the `config` task instead.
    path = session.invocation.config_path
    return [str(path)] if path.is_file() else []
