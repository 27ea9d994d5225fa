"""The checkpoints of one run: a stage leaves its own once all stages before it have. Rule: generation.md §5.

They form a chain in stage order, whatever order the tasks end in under `doit -n`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from bfcl.config.identity import generation_config_hash
from bfcl.digest import Digest, blake3_of
from bfcl.graph.checkpoint_files import place
from bfcl.graph.checkpoint_form import Artifacts, Checkpoint, Origin, Result, documents, plain_facts
from bfcl.graph.host import dependency_lock_hash, source_hash
from bfcl.graph.pointers import Pointer
from bfcl.graph.store import Entry, tampered
from bfcl.stages import Stage
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE

if TYPE_CHECKING:
    from bfcl.graph.session import Session


class Chain:
    """What has been checkpointed of a run so far."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._links: list[Checkpoint] = []
        self._ended: set[str] = set()
        self._guard = threading.Lock()
        self.files: dict[str, str] = {}
        """Path below the checkpoints to BLAKE3, of every checkpoint in the chain."""

    @cached_property
    def origin(self) -> Origin:
        """What made this run; asked for once its pack is loaded."""
        session = self._session
        return Origin(
            generation_config_hash=generation_config_hash(session.loaded, session.release_stage),
            pack_fingerprint=session.pack.fingerprint,
            source_hash=source_hash(),
            dependency_lock_hash=dependency_lock_hash(),
        )

    def holds(self, stage: Stage) -> bool:
        """Whether the stage's result is that of a chain taken over, so that nothing is to be run."""
        return any(link.stage == stage.name for link in self._links)

    def content_hash(self, name: str) -> Digest | None:
        """SHA-256 of an artifact as the last checkpoint names it, None for what no stage left.

        It was taken in this process of bytes that the store had just verified, in a resumed run too.
        """
        facts = self._links[-1].outputs.get(name) if self._links else None
        return facts.content_hash if facts is not None else None

    def take_over(self, links: Iterable[Checkpoint], files: dict[str, str]) -> None:
        """Go on from the verified checkpoints of an earlier run. `files` are theirs, as in `Chain.files`."""
        self._links = list(links)
        self._ended = {link.stage for link in self._links}
        self.files = dict(files)

    def ended(self, stage: Stage) -> None:
        """Leave the checkpoint of a stage that has ended, or keep it waiting for stages before it.

        Raises: DriftError `build_cache_tampered` where an inherited artifact has changed; StageError `storage_failed`.
        """
        with self._guard:
            self._ended.add(stage.name)
            for one in self._session.stages[len(self._links) :]:
                if one.name not in self._ended:
                    return
                self._leave(one)

    def _leave(self, stage: Stage) -> None:
        session = self._session
        self._check_inherited(stage)
        parent = self._links[-1] if self._links else self._prepared()
        made = documents(stage, self.origin, parent, self.result(stage, session.result(stage.name)))
        place(session.run, stage.name, made.files)
        self._links.append(made.checkpoint)
        self.files |= {f"{stage.name}/{name}": blake3_of(data) for name, data in made.files.items()}

    def _check_inherited(self, stage: Stage) -> None:
        """A stage changes only its own artifacts: pointers and copies of all earlier ones are as they were left."""
        session = self._session
        shown: dict[str, str | None] = {}
        for one, link in zip(session.stages, self._links, strict=False):
            if session.result(one.name) != link.pointer:
                raise tampered(f"refs/{session.invocation.ck}/{one.name}.json", f"changed while {stage.name} ran")
            entry = session.pointed(link.pointer)
            shown |= {name: entry.files[name] for name in session.files_of(one)}
        session.views.check(shown)

    def _prepared(self) -> Artifacts:
        return prepared(self._session.entry("prepare"))

    def result(self, stage: Stage, pointer: Pointer) -> Result:
        """A stage's result with the files that are its artifacts; the last stage's are the tables to publish too."""
        last = stage == self._session.stages[-1]
        files = (*self._session.files_of(stage), *((RAW_FILE, PUBLISHED_FILE) if last else ()))
        return Result(pointer, self._session.pointed(pointer), files)


def prepared(entry: Entry) -> Artifacts:
    """What `prepare` left in its entry: the inputs of the first stage."""
    return {name: plain_facts(entry, name) for name in sorted(entry.files)}
