"""Stage 1 and the gate: load and normalise the pack, validate it, let only Gold pass. Rule: generation.md §3."""

from __future__ import annotations

from contextlib import suppress

from bfcl.canonical import Json
from bfcl.checks.report import report
from bfcl.errors import OracleError, PackError, StageError
from bfcl.files import write_synced
from bfcl.graph.begin import describes_inputs
from bfcl.graph.checkpoint_files import clear
from bfcl.graph.pointers import Pointer, write_pointer
from bfcl.graph.publish import withdraw
from bfcl.graph.say import say
from bfcl.graph.session import Session
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Key
from bfcl.graph.verdicts import finding_problems, require_gold, verdict_line, warning_lines
from bfcl.pack.fingerprint import check_drift
from bfcl.pack.normalise import normalised
from bfcl.stages.artifacts import REPORT_FILE

_CONFIGURED = frozenset({"pack_outside_allowlist", "output_inside_pack"})


def prepare(session: Session) -> None:
    """Withdraw the old publication, load and normalise the pack, run every check, write the report.

    Worlds import the pack while the checks that run no code go on, whatever these come to.

    A verdict below gold is printed, not refused. Raises: PackError, DriftError `pack_drift`.
    """
    session.check_views()
    try:
        session.load_pack()
    except PackError as error:
        # A pack that does not load is an input that changed, so no manifest may stay; a refused path is configuration.
        if any(problem.code not in _CONFIGURED for problem in error.problems):
            _start_over(session)
        raise
    if session.command != "prepare" or not _stays(session):
        _start_over(session)
    if session.pack.endpoint is None:
        with suppress(OracleError, StageError):  # the first check that asks a world meets the same
            session.oracle.start_ahead()
    store_normalised(session)
    verdict = session.validate()
    session.report = report(session.pack, session.config, verdict)
    session.views.write(REPORT_FILE, session.report)
    check_drift(session.pack)
    if session.command == "prepare":
        found = [str(problem) for problem in finding_problems(session.loaded, session.pack, verdict)]
        summary = verdict_line("prepare", verdict, str(session.run.report))
        say([summary, *found, *warning_lines(session.loaded, session.pack, verdict)])


def gold_gate(session: Session) -> None:
    """Raise GateError `non_gold_pack` unless this very invocation found the pack Gold. Rule: spec README, ruling 4."""
    if session.verdict is None:
        raise AssertionError("the prepare task has not run in this process")
    require_gold(session.loaded, session.pack, session.verdict)


def _start_over(session: Session) -> None:
    """Withdraw the publication and remove the checkpoints: they belong to one run, and a new one begins."""
    withdraw(session.run.root)
    clear(session.run)


def _stays(session: Session) -> bool:
    """`doit prepare` leaves a publication alone that is of today's inputs, whichever command made it."""
    keys = [session.invocation.publication_key("generate"), session.invocation.publication_key("all")]
    return describes_inputs(session.run.root, keys)


def normalised_key(session: Session) -> Key:
    """The key of the normalised pack."""
    roles: dict[str, Json] = {role: file.origin for role, file in sorted(session.pack.files.items())}
    return Key(
        stage="prepare",
        shard=None,
        code=code_digest("prepare"),
        params={"origins": roles},
        inputs={logical: str(digest) for logical, digest in session.pack.entries.items()},
    )


def store_normalised(session: Session) -> None:
    """Bring the normalised pack up to date, show it in `stage_cache/`, point at it and at the oracle's view."""
    pack = session.pack
    key = normalised_key(session)
    entry = None if session.variables.rebuild else session.store.find(key.fp)
    session.evidence.add("prepare", None, key.fp, "hit" if entry else "computed")
    if entry is None:
        with session.store.building(key) as directory:
            for name, data in normalised(pack).items():
                write_synced(directory / name, data)
        entry = session.store.find(key.fp)
    assert entry is not None
    session.views.copy({name: entry.file(name) for name in entry.files})
    session.views.remove(session.absent_files())
    pointer = Pointer(stage="prepare", fp=entry.fp, record_digest=entry.record_digest)
    write_pointer(session.tree.pointer(session.invocation.ck, "prepare"), pointer)
    view = session.store.find(session.oracle_view)
    assert view is not None
    pointer = Pointer(stage="oracle_view", fp=view.fp, record_digest=view.record_digest)
    write_pointer(session.tree.pointer(session.invocation.ck, "oracle_view"), pointer)
