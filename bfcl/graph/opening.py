"""One invocation as doit sees it: what was asked, whether anything is to do, and the session once something is."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bfcl.canonical import Json
from bfcl.graph.evidence import Evidence
from bfcl.graph.invocation import Invocation, publication_key
from bfcl.graph.pointers import Pointer, read_pointer
from bfcl.graph.store import Store
from bfcl.graph.variables import Variables
from bfcl.records.ids import RunStage

if TYPE_CHECKING:
    from bfcl.graph.session import Session


class Opening:
    """Made when doit loads; the `config` task fills `variables`, and then `noop` or `session`.

    A command line that only validates gets neither: its task needs no run and no store.
    """

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation
        self.command: RunStage = "generate"
        self.tasks: tuple[str, ...] = ("generate",)
        """The tasks asked for by name."""
        self.variables: Variables | None = None
        self.noop = False
        """The publication in place already answers: no task has anything to do."""
        self.session: Session | None = None
        self.last_line: str | None = None
        """What the output is to end in, where a task says so."""

    @cached_property
    def evidence(self) -> Evidence:
        return Evidence(self.invocation.tree.log)

    @cached_property
    def store(self) -> Store:
        return Store(self.invocation.tree)

    @cached_property
    def root_inputs(self) -> dict[str, Json]:
        """What this invocation would publish depends on. Read before the first stage, checked at the end."""
        return self.invocation.root_inputs(self.release_stage)

    @cached_property
    def publication_key(self) -> str:
        """The key of what this invocation would publish."""
        return publication_key(self.root_inputs)

    @property
    def release_stage(self) -> RunStage:
        """The stage a release is identified by: asking for a single stage counts as `generate`."""
        return "all" if self.command == "all" else "generate"

    @property
    def wants_fresh(self) -> bool:
        """Whether stored results are to be computed again."""
        return self.variables is not None and (self.variables.rebuild or self.variables.replay_full)

    def pointer(self, stage: str) -> Pointer | None:
        """The stage's result under this configuration, None where there is none yet."""
        return read_pointer(self.invocation.tree.pointer(self.invocation.ck, stage))

    def close(self) -> None:
        """End what the invocation started. Safe to call twice."""
        if self.session is not None:
            self.session.close()
