"""How does a run start at a later stage: check everything it builds on, then put it in place? Rule: generation.md §5.

Until everything is checked nothing is touched; after that the publication goes first, so a kill leaves a chain that can
be resumed again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.checks.report import report
from bfcl.config.identity import generation_config_hash
from bfcl.digest import Digest, blake3_of
from bfcl.errors import BfclError, ConfigError, DriftError, GateError, PackError, Problem, did_you_mean, raise_all
from bfcl.graph.checkpoint_chain import CODE, ChainReader, ReadCheckpoint
from bfcl.graph.checkpoint_files import keep_only
from bfcl.graph.checkpoint_form import Checkpoint
from bfcl.graph.checkpoints import prepared
from bfcl.graph.pointers import write_pointer
from bfcl.graph.prepare import normalised_key, prepare, store_normalised
from bfcl.graph.publish import withdraw
from bfcl.graph.session import Session
from bfcl.graph.store import Entry
from bfcl.graph.verdicts import require_gold
from bfcl.pack.fingerprint import check_drift, declared_inputs, drift
from bfcl.pack.normalise import normalised
from bfcl.records.ids import RunStage
from bfcl.stages import STAGES, Stage
from bfcl.stages.artifacts import REPORT_FILE

WHOLE_RUN: Final = "leave `skip_until=` out: that run takes what still holds from the store"

_ADDRESS: Final = re.compile("build/([0-9a-f]{64})/")


def prepare_or_resume(session: Session) -> None:
    """What the `prepare` task does: stage 1, or under `skip_until=` the checks that stand in for it."""
    if session.variables.skip_until is None:
        prepare(session)
    else:
        resume(session, session.variables.skip_until)


def resume(session: Session, target: str) -> None:
    """Check pack and checkpoints, take the stages before `target` as done, remove what it and later ones left.

    `target` is one of the run's stages (`check_target`). Raises: `stage_resume_invalid` for whatever does not hold, the
    tree untouched: PackError and GateError with the pack's own problems behind, DriftError for the chain.
    """
    names = [stage.name for stage in session.stages]
    before, after = session.stages[: names.index(target)], session.stages[names.index(target) :]
    reader = ChainReader(session.run, before)
    with _leaving_nothing(session), _refusing():
        read = _read(session, reader) if before else []
        _revalidate(session, reader, read)
        session.check_views()
        links = reader.verified(read, session, prepared(_prepared_entry(session, reader))) if read else []
    _go_back(session, [stage.name for stage in before], after)
    _restore(session, links, read)


def check_target(stages: Sequence[Stage], target: str) -> None:
    """Raises: ConfigError `stage_resume_invalid` unless `target` is one of the run's stages."""
    names = [stage.name for stage in stages]
    if target in names:
        return
    known = next((stage for stage in STAGES if stage.name == target), None)
    if known is not None:
        message = f"`{target}` is not enabled in this configuration"
        fix = f"set `{known.switch}.enabled: true` and run once without `skip_until=`, or name an enabled stage"
    else:
        message = f"a run cannot be resumed at `{target}`; its stages are {', '.join(names)}"
        fix = did_you_mean(target, names) or "name one of these stages"
    raise ConfigError(Problem(code=CODE, subject="skip_until", message=message, fix=fix))


# --- checks -------------------------------------------------------------------------------------------------------


def _read(session: Session, reader: ChainReader) -> list[ReadCheckpoint]:
    """The checkpoints before the target, all of good form, the last of this command and configuration."""
    reader.check_place(session.stages)
    read: list[ReadCheckpoint] = []
    problems: list[Problem] = []
    for stage in reader.stages:
        try:
            read.append(reader.read(stage))
        except DriftError as error:
            problems += error.problems
    raise_all(DriftError, problems)
    _check_command(session, read[-1].identity["generation_config_hash"])
    return read


def _check_command(session: Session, then: Json) -> None:
    now = generation_config_hash(session.loaded, session.release_stage)
    if then == now:
        return
    other: RunStage = "generate" if session.release_stage == "all" else "all"
    if then == generation_config_hash(session.loaded, other):
        subject = "command"
        message = f"the checkpoints are those of `doit {other}`, this is `doit {session.release_stage}`"
        fix = f"run `doit {other} skip_until={session.variables.skip_until}`, or {WHOLE_RUN}"
    else:
        subject = "configuration"
        message = f"has changed since the checkpoints were written: generation_config_hash is {now}, was {then}"
        fix = f"undo the change, or {WHOLE_RUN}"
    raise DriftError(Problem(code=CODE, subject=subject, message=message, fix=fix))


def _revalidate(session: Session, reader: ChainReader, read: Sequence[ReadCheckpoint]) -> None:
    """Load the pack and run every check: it must be the pack of the checkpoints, and Gold."""
    try:
        session.load_pack()
    except PackError as error:
        raise _led(error, "cannot be loaded") from None
    if read:
        _check_pack(session, read)
        _check_program(session, reader, read[-1].identity["pipeline"])
    verdict = session.validate()
    try:
        require_gold(session.loaded, session.pack, verdict)
    except GateError as error:
        raise _led(error, f"is {verdict.tier}, not gold") from None
    check_drift(session.pack)


def _led(error: BfclError, message: str) -> BfclError:
    """The same refusal with the reason why nothing is resumed in front."""
    fix = "mend what follows, then run once without `skip_until=`"
    return type(error)([Problem(code=CODE, subject="pack", message=message, fix=fix), *error.problems])


def _check_pack(session: Session, read: Sequence[ReadCheckpoint]) -> None:
    then, now = read[-1].identity["pack_fingerprint"], session.pack.fingerprint
    if then != now:
        told = "".join(f"; {name}" for name in _moved(session, read[0]))
        message = f"has changed since the checkpoints were written: its fingerprint is {now}, was {then}{told}"
        raise DriftError(Problem(code=CODE, subject="pack", message=message, fix=f"undo the change, or {WHOLE_RUN}"))


def _moved(session: Session, first: ReadCheckpoint) -> Iterator[str]:
    """The files that differ, as far as the result of `prepare` that the chain names still says what they were."""
    found = next(iter(_ADDRESS.findall(canonical_text(first.manifest["input_artifacts"]))), None)
    entry = session.store.find(found) if found is not None else None
    before = entry.key.get("inputs") if entry is not None else None
    if isinstance(before, Mapping):
        then = {name: Digest(str(digest)) for name, digest in before.items()}
        declared = declared_inputs(session.pack)
        for problem in drift(then, session.pack.entries, declared):
            yield f"{problem.subject} {problem.message.replace(' since the pack was read', '')}"


def _check_program(session: Session, reader: ChainReader, then: Mapping[str, Json]) -> None:
    now = session.chain.origin.pipeline
    if then != now:
        names = [name for name, value in sorted(now.items()) if then[name] != value]
        message = f"the program or its libraries have changed since the checkpoints were written: {', '.join(names)}"
        raise DriftError(reader.problem("pipeline", message))


def _prepared_entry(session: Session, reader: ChainReader) -> Entry:
    """The stored normalised pack, which must be what the pack normalises to now."""
    fp = normalised_key(session).fp
    entry = session.store.find(fp)
    if entry is None:
        raise DriftError(reader.problem(f"build/{fp}", "the result of prepare is gone"))
    now = {name: blake3_of(data) for name, data in normalised(session.pack).items()}
    odd = sorted(name for name in {*now, *entry.files} if now.get(name) != entry.files.get(name))
    raise_all(
        DriftError,
        [reader.problem(f"build/{fp}/{name}", "is not what the pack normalises to") for name in odd],
    )
    return entry


@contextmanager
def _leaving_nothing(session: Session) -> Iterator[None]:
    """A run that is not resumed leaves what it found, and nothing of its own."""
    try:
        yield
    except BfclError:
        session.withdraw()
        raise


@contextmanager
def _refusing() -> Iterator[None]:
    """Whatever moved is told as what it means here: this run cannot be resumed."""
    try:
        yield
    except DriftError as error:
        raise DriftError([dataclasses.replace(problem, code=CODE) for problem in error.problems]) from None


# --- going back ---------------------------------------------------------------------------------------------------


def _go_back(session: Session, kept: Sequence[str], stages: Sequence[Stage]) -> None:
    """Remove what these stages and the publication left: manifest first, then every checkpoint that is not `kept`."""
    withdraw(session.run.root)
    keep_only(session.run, kept)
    files = [name for stage in stages for name in session.files_of(stage)]
    session.views.remove(name for name in files if (session.run.stage_cache / name).exists())
    for stage in stages:
        session.tree.pointer(session.invocation.ck, stage.name).unlink(missing_ok=True)


def _restore(session: Session, links: Sequence[Checkpoint], read: Sequence[ReadCheckpoint]) -> None:
    """Point at and show what the stages before left, and go on from their checkpoints."""
    store_normalised(session)
    assert session.verdict is not None
    session.report = report(session.pack, session.config, session.verdict)
    session.views.write(REPORT_FILE, session.report)
    for link in links:
        write_pointer(session.tree.pointer(session.invocation.ck, link.stage), link.pointer)
    if links:
        session.views.copy({name: session.tree.project / facts.source for name, facts in links[-1].outputs.items()})
    session.chain.take_over(
        links, {f"{one.stage.name}/{name}": digest for one in read for name, digest in one.digests.items()}
    )
