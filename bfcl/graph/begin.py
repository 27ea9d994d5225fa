"""What an invocation starts with: check what was asked, find out whether anything is to do, take the locks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bfcl.config.load import load_config
from bfcl.digest import blake3_file
from bfcl.errors import DriftError, Problem, ReleaseError, raise_all
from bfcl.graph.pointers import read_publication
from bfcl.graph.session import Session
from bfcl.graph.store import tampered
from bfcl.graph.variables import check_variables
from bfcl.release.read import open_release
from bfcl.release.verify import verify_files
from bfcl.stages import STAGES

_GENERATING = frozenset({"generate", "all"})


def begin(session: Session) -> None:
    """The `config` task.

    Raises: ConfigError with every problem of command line and configuration, before anything is touched; DriftError
    `run_locked`, `build_cache_tampered`. Rule: generation.md §2.1, §9.5.
    """
    session.variables = check_variables(session.invocation.given)
    if session.invocation.trouble is not None:
        raise session.invocation.trouble
    key = session.publication_key
    if session.command in _GENERATING and not session.wants_fresh and _is_published(session, key):
        session.noop = True
        for stage in STAGES:
            session.evidence.add(stage.name, None, None, "verified")
        session.evidence.write_all()
        return
    invocation = session.invocation
    session.loaded = load_config(invocation.config_path, project=invocation.project, command=session.command)
    session.lock()
    session.store.sweep()
    session.evidence.prune()


def describes_inputs(run_dir: Path, keys: list[str]) -> bool:
    """Whether the publication in `run_dir` was made of inputs with one of these publication keys."""
    try:
        build = open_release(run_dir).manifest["build"]
    except ReleaseError:
        return False
    return isinstance(build, Mapping) and build.get("publication_key") in keys


def _is_published(session: Session, key: str) -> bool:
    """Whether what is published is of these very inputs and every byte of it is as written.

    Raises: DriftError `build_cache_tampered` where it is of these inputs and somebody changed a file of it.
    """
    run = session.invocation.run
    if run is None or not describes_inputs(run.root, [key]):
        return False
    published = read_publication(session.tree.pointer(session.invocation.ck, "publish"))
    if published is None:
        return False
    if published != blake3_file(run.manifest):
        raise tampered(run.manifest.name, "has changed since it was published", clean="doit clean publish")
    return _files_fit(verify_files(open_release(run.root))) and _results_fit(session)


def _files_fit(problems: list[Problem]) -> bool:
    """Whether nothing is missing. A report is never evidence, so an edited one is only written anew."""
    changed = [
        Problem(
            code="build_cache_tampered",
            subject=problem.subject,
            message=problem.message,
            fix="`doit clean publish` withdraws the publication, the next run publishes again",
        )
        for problem in problems
        if problem.code == "release_hash_mismatch" and problem.subject != "oracle_validation_report"
    ]
    raise_all(DriftError, changed)
    return not problems


def _results_fit(session: Session) -> bool:
    """Whether every pointer is there and what it names is as stored; absent results are fine, changed ones are not."""
    for stage in STAGES:
        pointer = session.pointer(stage.name)
        if pointer is None:
            return False
        for fp in (pointer.fp, *(shard.fp for shard in pointer.shards)):
            entry = session.store.find(fp)
            if entry is not None and fp == pointer.fp:
                pointer.check(entry)
    return True
