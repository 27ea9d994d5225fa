"""A run in this process, task by task, for what is said of its checkpoints: as doit does it, without doit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bfcl.canonical import readable_json
from bfcl.digest import sha256_json, sha256_of
from bfcl.errors import BfclError
from bfcl.graph.checkpoint_files import directory
from bfcl.graph.late import late
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.opening import Opening
from bfcl.graph.session import Session
from bfcl.graph.variables import check_variables
from bfcl.records.ids import RunStage
from tests.graph.projects import invoked


@contextmanager
def opened(project: Path, command: RunStage = "all", **given: str) -> Iterator[Session]:
    """A session with its locks, as the `config` task leaves it."""
    opening = Opening(invoked(project, **given))
    opening.command = command
    opening.tasks = (command,)
    opening.variables = check_variables(opening.invocation.given, opening.tasks)
    session: Session = late("open_session")(opening, opening.variables)
    try:
        yield session
    finally:
        session.close()


def run(session: Session, *, stop_after: str | None = None) -> None:
    """Every task of the command, or all up to a stage."""
    late("prepare")(session)
    late("gold_gate")(session)
    for stage in session.stages:
        late("stage")(session, stage)
        if stage.name == stop_after:
            return
    late("publish")(session)


def build(project: Path) -> None:
    """Publish the project."""
    with opened(project) as session:
        run(session)


def refused(act: Callable[[], object]) -> list[str]:
    """The problems of a refusal, one text each."""
    try:
        act()
    except BfclError as error:
        return [str(problem) for problem in error.problems]
    raise AssertionError("nothing was refused")


class Chain:
    """The checkpoints of a published project, to be edited."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.run = RunTree(project / "build" / "runs" / "trial")
        self.tree = BuildTree(project)
        self.root = directory(self.run)

    def document(self, stage: str, name: str = "manifest.json") -> dict[str, Any]:
        return dict(json.loads((self.root / stage / name).read_bytes()))

    def put(self, stage: str, name: str, value: object) -> None:
        (self.root / stage / name).write_bytes(readable_json(value))  # type: ignore[arg-type]

    def forge(self, stage: str, edit: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
        """Edit manifest and state of a stage and make all digests of this checkpoint and of later ones fit again."""
        names = [path.name for path in sorted(self.root.iterdir(), key=lambda path: self._index(path.name))]
        parent = None
        for name in names[names.index(stage) :]:
            manifest, state = self.document(name), self.document(name, "state.json")
            if parent is None:
                edit(manifest, state)
            else:
                manifest["parent"]["checkpoint_id"] = parent
            self.put(name, "state.json", state)
            data = (self.root / name / "state.json").read_bytes()
            manifest["state"] = {"file": "state.json", "content_hash": sha256_of(data), "size": len(data)}
            manifest.pop("checkpoint_id", None)
            parent = manifest["checkpoint_id"] = sha256_json(manifest)
            self.put(name, "manifest.json", manifest)

    def _index(self, stage: str) -> int:
        return int(self.document(stage)["stage_index"])

    def snapshot(self) -> dict[str, bytes]:
        """Every file of the run tree, and what the pointers say."""
        tops = (self.run.root, self.tree.root / "refs")
        paths = [path for top in tops for path in sorted(top.rglob("*")) if path.is_file()]
        return {path.relative_to(self.project).as_posix(): path.read_bytes() for path in paths}
