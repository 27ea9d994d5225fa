"""What an invocation starts with: check what was asked, find out whether anything is to do, take the locks."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path

from bfcl.config.paths import is_within
from bfcl.digest import blake3_file, blake3_of
from bfcl.errors import ConfigError, DriftError, Problem, ReleaseError, raise_all
from bfcl.files import refuse_illegible
from bfcl.graph.checkpoint_files import check_files
from bfcl.graph.commit_record import read_commit_record
from bfcl.graph.invocation import Invocation
from bfcl.graph.late import late
from bfcl.graph.layout import REPORT_ARTIFACT, RunTree
from bfcl.graph.opening import Opening
from bfcl.graph.recordings import still_recorded
from bfcl.graph.store import tampered
from bfcl.graph.variables import Variables, check_variables, local_directory, only_validates
from bfcl.oracle.stopping import stop_in_order
from bfcl.records.ids import GENERATING
from bfcl.release.file_digests import verify_files
from bfcl.release.read import Release, open_release
from bfcl.stages.artifacts import STAGE_ARTIFACTS


def begin(opening: Opening) -> None:
    """The `config` task: leaves `opening.noop` set, or a session with its locks taken; neither for `doit validate`.

    Raises: ConfigError with every problem of command line and configuration, before anything is touched, and
    `output_inside_pack`, `cache_misplaced`; DriftError `run_locked`, `build_cache_tampered`.
    Rule: generation.md §2.1, §9.5.
    """
    opening.variables = check_variables(opening.invocation.given, opening.tasks)
    if opening.invocation.trouble is not None and opening.invocation.named_pack is None:
        raise opening.invocation.trouble
    refuse_illegible_place(opening.invocation)
    refuse_to_build_inside_pack(opening.invocation)
    refuse_misplaced_cache(opening.invocation, opening.variables)
    stop_in_order()
    if only_validates(opening.tasks):
        return
    if opening.variables.skip_until is not None:
        late("check_target")(opening.invocation.stages, opening.variables.skip_until)
    key = opening.publication_key
    if opening.command in GENERATING and not opening.wants_fresh and _is_published(opening, key):
        opening.noop = True
        for stage in opening.invocation.stages:
            pointer = opening.pointer(stage.name)
            opening.evidence.add(stage.name, None, pointer.fp if pointer is not None else None, "verified")
        opening.evidence.write_all()
        opening.evidence.prune()
        return
    open_session = late("open_session")
    # Modules stay to the end and rows are trees without cycles: looking for garbage among them finds none.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    opening.session = open_session(opening, opening.variables)


def refuse_illegible_place(invocation: Invocation) -> None:
    """Raises: ConfigError `generation_config_invalid` where the project's path is no text: no worker can be told it."""
    refuse_illegible(invocation.project, "where this project lies", ConfigError, "generation_config_invalid")


def refuse_to_build_inside_pack(invocation: Invocation) -> None:
    """Raises: ConfigError `output_inside_pack`, naming both directories."""
    pack = invocation.pack_around_build
    if pack is not None:
        raise ConfigError(
            Problem(
                code="output_inside_pack",
                subject="build",
                message=f"`{invocation.tree.root}`, where results of this project go, would lie inside the pack "
                f"`{pack}` and change it",
                fix="keep `dodo.py` outside the pack, which may lie below it, say in `packs/<pack_id>`",
            )
        )


def refuse_misplaced_cache(invocation: Invocation, variables: Variables) -> None:
    """Raises: ConfigError `cache_misplaced` where the shared cache would lie in what a run reads or writes itself.

    In a pack it would change what is built, elsewhere it would go with what is removed as the run's own.
    """
    place = local_directory(variables.cache) if variables.cache is not None else None
    around = [name for name, path in invocation.own_directories.items() if place is not None and is_within(place, path)]
    if around:
        raise ConfigError(
            Problem(
                code="cache_misplaced",
                subject="cache",
                message=f"`{place}` lies inside {around[0]}, `{invocation.own_directories[around[0]]}`",
                fix="name a directory of its own, outside of pack, run directory and `build/`",
            )
        )


def describes_inputs(run_dir: Path, keys: list[str]) -> bool:
    """Whether the publication in `run_dir` was made of inputs with one of these publication keys."""
    return _release_of(run_dir, keys) is not None


def _release_of(run_dir: Path, keys: list[str]) -> Release | None:
    try:
        release = open_release(run_dir)
    except ReleaseError:
        return None
    build = release.manifest["build"]
    return release if isinstance(build, Mapping) and build.get("publication_key") in keys else None


def _is_published(opening: Opening, key: str) -> bool:
    """Whether what is published is of these very inputs and every byte of it is as written.

    Raises: DriftError `build_cache_tampered` where it is of these inputs and somebody changed a file of it.
    """
    run = opening.invocation.run
    published = read_commit_record(run.commit_record) if run is not None else None
    if run is None or published is None or published.publication_key != key or not run.manifest.is_file():
        return False
    if published.manifest != blake3_file(run.manifest):
        raise tampered(
            run.manifest.name,
            "has changed since it was published",
            fix="`doit clean publish` withdraws the publication, the next run publishes again",
        )
    if published.configuration != blake3_of(opening.invocation.data):
        # Another spelling of the same settings may still be refused: quotes, say, are not part of the key.
        late("check_configuration")(opening)
    release = _release_of(run.root, [key])
    return (
        opening.invocation.pack_is_allowed
        and release is not None
        and _files_fit(run, verify_files(release))
        and _recordings_fit(run, published.recorded)
        and check_files(run, published.checkpoints)
        and _results_fit(opening)
        and _copies_fit(opening, run)
    )


def _files_fit(run: RunTree, problems: list[Problem]) -> bool:
    """Whether nothing is missing. A report is never evidence, so an edited one is only written anew."""
    changed = [
        Problem(
            code="build_cache_tampered", subject=problem.subject, message=problem.message, fix=_remedy(run, problem)
        )
        for problem in problems
        if problem.code == "release_hash_mismatch" and problem.subject != REPORT_ARTIFACT
    ]
    raise_all(DriftError, changed)
    return not problems


def _recordings_fit(run: RunTree, before: str) -> bool:
    """Whether every model reply that the publication may be made of is as it was. Raises: ModelError for damage."""
    if still_recorded(run.embedding_cache, before):
        return True
    late("check_recorded")(run.embedding_cache)
    return False


def _remedy(run: RunTree, problem: Problem) -> str:
    artifact = STAGE_ARTIFACTS.get(problem.subject or "")
    if artifact is not None:
        return f"delete {run.root / artifact.file}; the next run writes it again"
    return "`doit clean publish` withdraws the publication, the next run publishes again"


def _results_fit(opening: Opening) -> bool:
    """Whether every pointer is there and what it names is as stored; absent results are fine, changed ones are not."""
    for name in ("prepare", "oracle_view", *(stage.name for stage in opening.invocation.stages)):
        pointer = opening.pointer(name)
        if pointer is None:
            return False
        for fp in (pointer.fp, *(shard.fp for shard in pointer.shards)):
            entry = opening.store.find(fp)
            if entry is not None and fp == pointer.fp:
                pointer.check(entry)
    return True


def _copies_fit(opening: Opening, run: RunTree) -> bool:
    """Whether those files of the normalised pack that the manifest does not name are shown as they are stored.

    Raises: DriftError `build_cache_tampered` naming each file that somebody changed.
    """
    pointer = opening.pointer("prepare")
    entry = opening.store.find(pointer.fp) if pointer is not None else None
    named = {run.root / artifact.file for artifact in STAGE_ARTIFACTS.values()}
    stored = entry.files if entry is not None else {}
    paths = {path: digest for name, digest in stored.items() if (path := run.stage_cache / name) not in named}
    if any(path.is_symlink() or not path.is_file() for path in paths):
        return False
    changed = [path for path, digest in paths.items() if blake3_file(path) != digest]
    fix = "delete {}; the next run writes it again"
    raise_all(
        DriftError,
        [
            Problem(
                code="build_cache_tampered",
                subject=f"stage_cache/{path.name}",
                message="has changed since it was written",
                fix=fix.format(path),
            )
            for path in changed
        ],
    )
    return True
